"""What users do in a life: claims, pods and templates, made and deleted."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from .actions import CLAIM_PATH, POD_PATH, TEMPLATE_PATH
from .drawn import CLAIM, CLASS, CORE, NODE, NTH, PAUSE, POD, TEMPLATE
from .stage import Stage
from .town import DEVICES, Object


def asked(core: int) -> Object:
    amounts = {"elasticgpu.io/gpu-core": str(core), "elasticgpu.io/gpu-memory": f"{core // 10}Gi"}
    return {"resources": {"requests": amounts}}


class Users(Stage):
    """Those who work in a namespace."""

    @rule(
        name=CLAIM,
        core=CORE,
        of=st.one_of(st.none(), CLASS, st.just("")),
        shared=st.booleans(),
        pause=PAUSE,
    )
    def claim(self, name: str, core: int, of: str | None, shared: bool, pause: float) -> None:
        spec = asked(core) | ({"shared": True} if shared else {})
        if of is not None:
            spec["elasticGPUClassName"] = of
        self.go(self.people.claim(name, spec), pause)

    @rule(
        name=CLAIM,
        core=CORE,
        of=CLASS,
        other=CLAIM,
        how=st.sampled_from(["colocateWith", "elasticGPUName", "nodeName"]),
        nth=NTH,
        pause=PAUSE,
    )
    def special_claim(
        self, name: str, core: int, of: str, other: str, how: str, nth: int, pause: float
    ) -> None:
        spec = asked(core) | {"elasticGPUClassName": of}
        match how:
            case "colocateWith":
                spec[how] = [other]
            case "elasticGPUName":
                spec[how] = self.nth(DEVICES, nth)
            case _:
                spec["gpuSelector"] = {how: f"node-{nth % 3}"}
        self.go(self.people.claim(name, spec), pause)

    @rule(name=CLAIM, pause=PAUSE)
    def delete_claim(self, name: str, pause: float) -> None:
        self.go(self.people.delete(f"{CLAIM_PATH}/{name}"), pause)

    @rule(name=POD, claims=st.lists(CLAIM, min_size=1, max_size=2, unique=True), pause=PAUSE)
    def pod(self, name: str, claims: list[str], pause: float) -> None:
        self.go(self.people.pod(name, claims), pause)

    @rule(name=POD, claim=CLAIM, node=NODE, pause=PAUSE)
    def pod_of_a_node(self, name: str, claim: str, node: str, pause: float) -> None:
        self.go(self.people.pod(name, [claim], node=node), pause)

    @rule(name=POD, template=TEMPLATE, core=CORE, of=CLASS, pause=PAUSE)
    def pod_of_a_template(self, name: str, template: str, core: int, of: str, pause: float) -> None:
        spec = asked(core) | {"elasticGPUClassName": of}
        self.go(self.people.template(template, spec))
        self.go(self.people.pod(name, [], template), pause)

    @rule(name=TEMPLATE, pause=PAUSE)
    def delete_template(self, name: str, pause: float) -> None:
        self.go(self.people.delete(f"{TEMPLATE_PATH}/{name}"), pause)

    @rule(name=POD, grace=st.sampled_from([None, 0]), pause=PAUSE)
    def delete_pod(self, name: str, grace: int | None, pause: float) -> None:
        self.go(self.people.delete(f"{POD_PATH}/{name}", grace), pause)

    @rule(name=POD, phase=st.sampled_from(["Succeeded", "Failed"]), pause=PAUSE)
    def end_pod(self, name: str, phase: str, pause: float) -> None:
        self.go(self.people.end_pod(name, phase), pause)

    @rule(claim=CLAIM, name=POD, other=POD, core=CORE, of=CLASS)
    def run_pod(self, claim: str, name: str, other: str, core: int, of: str) -> None:
        """What usually happens, so that the rest meets claims in use."""
        self.go(self.people.claim(claim, asked(core) | {"elasticGPUClassName": of}))
        self.go(self.people.pod(name, [claim]), 3.0)
        self.go(self.people.pod(other, [claim]))
