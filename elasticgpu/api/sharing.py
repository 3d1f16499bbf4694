"""What administrators write for NVIDIA's device plugin and for mig-parted, as it is imported.

A misspelt field is an error. Sources: NVIDIA/k8s-device-plugin, api/config/v1 (README, “Shared
Access to GPUs”); NVIDIA/mig-parted, api/spec/v1 (README, “Example”).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

PLUGIN_LABEL = "nvidia.com/device-plugin.config"
"""Node label: which entry of the device plugin's ConfigMap the node takes."""
PARTED_LABEL = "nvidia.com/mig.config"
"""Node label: which of mig-parted's `mig-configs` the node takes."""
CAPABLE_LABEL = "nvidia.com/mps.capable"
"""Node label: `"true"` where NVIDIA's plugin is to serve MPS."""
GPU_RESOURCE = "nvidia.com/gpu"
SHARED = ".shared"
"""What `renameByDefault` appends to a resource's name."""

Devices = Literal["all"] | int | list[int | str]
"""All cards, the first so many, or those of these indexes and uuids."""


class Strict(BaseModel):
    """Frozen, camelCase, and a misspelt field is an error."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


class SharedResource(Strict):
    """One resource that is shared: by which cards, by how many each, under which other name."""

    name: str
    rename: Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9._/-]*)$", max_length=253)] = ""
    devices: Devices = "all"
    replicas: Annotated[int, Field(ge=2)]


class Strategy(Strict):
    """The resources that are shared by one strategy."""

    rename_by_default: bool = False
    fail_requests_greater_than_one: bool | None = None
    resources: list[SharedResource]

    def named(self, resource: SharedResource) -> str:
        """What pods call the resource."""
        default = resource.name + SHARED if self.rename_by_default else resource.name
        return resource.rename or default


class Sharing(Strict):
    """The strategies of one entry."""

    time_slicing: Strategy | None = None
    mps: Strategy | None = None


class PluginFlags(Strict):
    """Flags of the plugin; but for `migStrategy` they are about the plugin itself."""

    mig_strategy: Literal["none", "single", "mixed"] | None = None
    fail_on_init_error: bool | None = None
    mps_root: str | None = None
    nvidia_driver_root: str | None = None
    nvidia_dev_root: str | None = None
    gdrcopy_enabled: bool | None = None
    gds_enabled: bool | None = None
    mofed_enabled: bool | None = None
    use_node_feature_api: Annotated[bool | None, Field(alias="useNodeFeatureAPI")] = None
    device_discovery_strategy: str | None = None
    plugin: dict[str, Any] | None = None
    gfd: dict[str, Any] | None = None


class PluginConfig(Strict):
    """One entry of the device plugin's ConfigMap."""

    version: Literal["v1"]
    flags: PluginFlags = PluginFlags()
    resources: dict[str, Any] | None = None
    sharing: Sharing = Sharing()
    imex: dict[str, Any] | None = None


def _ids(value: object) -> object:
    """PCI device ids as numbers: `0x20B010DE` is device 20B0 of vendor 10DE."""
    written = value if isinstance(value, list) else [value]
    return [int(one, 0) if isinstance(one, str) else one for one in written]


class MigPart(Strict):
    """What mig-parted does with the cards that a filter and a list of indexes match."""

    model_config = ConfigDict(alias_generator=lambda name: name.replace("_", "-"))

    device_filter: Annotated[list[int], BeforeValidator(_ids)] = []
    devices: Literal["all"] | list[int]
    mig_enabled: bool
    mig_devices: dict[str, Annotated[int, Field(ge=1)]] = {}


class PartedConfig(Strict):
    """mig-parted's file: named layouts."""

    model_config = ConfigDict(alias_generator=lambda name: name.replace("_", "-"))

    version: Literal["v1"]
    mig_configs: dict[str, list[MigPart]]
