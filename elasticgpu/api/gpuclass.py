"""ElasticGPUClass: which provisioner cuts devices, how, and what becomes of them."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from .elasticgpu import ReclaimPolicy
from .meta import GROUP, VERSION, Conditions, KubeObject, Label, Model, Name, Resource
from .names import DEFAULT_CLASS_ANNOTATION

BindingMode = Literal["Immediate", "WaitForFirstConsumer"]
Spread = Literal["binpack", "spread"]


class TopologyTerm(Model):
    """Values one node label may have."""

    key: Annotated[Name, Field(description="Key of the node label.")]
    values: Annotated[list[Label], Field(max_length=64, description="Values it may have.")]


class Topology(Model):
    """Nodes on which devices of the class may be made: all expressions must fit."""

    match_label_expressions: Annotated[
        list[TopologyTerm], Field(max_length=16, description="All of them must fit the node.")
    ] = []


class Placement(Model):
    """How nodes and cards are chosen among those that fit."""

    node: Annotated[
        Spread,
        Field(description="binpack (default): the fullest node that fits; spread: the emptiest."),
    ] = "binpack"
    card: Annotated[
        Literal["binpack", "spread", "topology"],
        Field(
            description="binpack (default): the fullest card that fits; spread: the emptiest; "
            "topology: cards with the fastest links between them."
        ),
    ] = "binpack"


class ClassSpec(Model):
    """The class's promise."""

    provisioner: Annotated[
        Name, Field(min_length=1, description="Who cuts the devices, such as elasticgpu.io/mps.")
    ]
    parameters: Annotated[
        dict[Name, Annotated[str, StringConstraints(max_length=512)]],
        Field(max_length=32, description="What the provisioner is told; see its README."),
    ] = {}
    reclaim_policy: Annotated[
        ReclaimPolicy,
        Field(
            description="When a device's claim is gone: Delete the device, or Retain it for an "
            "admin."
        ),
    ] = "Delete"
    egpu_binding_mode: Annotated[
        BindingMode,
        Field(
            alias="eGPUBindingMode",
            description="Immediate: a claim gets its device at once; WaitForFirstConsumer: when "
            "the first pod uses it, on a node that suits the pod.",
        ),
    ] = "Immediate"
    allowed_topologies: Annotated[
        list[Topology],
        Field(max_length=16, description="Nodes the devices may be on: one of these must fit."),
    ] = []
    placement: Placement = Placement()


class ClassStatus(Model):
    """Whether the class can serve."""

    conditions: Conditions = []


class ElasticGPUClass(KubeObject):
    """How devices are made: which provisioner, which parameters, which policies."""

    resource: ClassVar[Resource] = Resource(
        GROUP, VERSION, "ElasticGPUClass", "elasticgpuclasses", short="egpuclass"
    )

    spec: ClassSpec
    status: ClassStatus = ClassStatus()

    @property
    def is_default(self) -> bool:
        """Whether claims that name no class get this one."""
        return self.metadata.annotations.get(DEFAULT_CLASS_ANNOTATION) == "true"
