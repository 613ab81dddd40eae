"""The sections of the configuration that belong to no part: mm2, mirror_version, clusters, flows, links.

The other sections come from the packages that they configure; here they are joined into one model, so that
every problem of a file is found in one pass.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from canary.config import CanaryConfig, FlowCanaryConfig
from fleet.replication import major_version
from lagmon.config import LagConfig
from runtime.config import HttpConfig, Section, StoreConfig

# Names that stand in the documentation for parts that this version does not have. They are taken, so that
# one file serves several versions, and the user is told that they do nothing.
LATER_SECTIONS = ("checksum", "objectives", "links")
LATER_FLOW_KEYS = ("lag_from", "group", "offsets")
# The same of keys in sections that there are; these have defaults, so it is told where the user wrote one.
LATER_KEYS = (("http", "external_url"), ("store", "keep", "syncs"))


def spelled(name: str) -> str:
    """Return the name of a flow without the blanks that may stand around its arrow."""
    return "->".join(part.strip() for part in name.split("->"))


def _flow_name(name: Any) -> Any:
    if isinstance(name, str):
        parts = spelled(name).split("->")
        if len(parts) != 2 or not all(parts):
            raise ValueError(f"'{name[:60]}' names no flow: write it as A->B, source first")
        return spelled(name)
    return name


FlowName = Annotated[str, BeforeValidator(_flow_name)]


class FlowSection(Section):
    """What is said of one flow; what is left out comes from the mm2 file, or is MirrorMaker's default."""

    topics: str | None = None
    policy: Literal["default", "identity", "legacy"] | None = None
    separator: str | None = Field(default=None, min_length=1, max_length=20)
    delivery: Literal["at_least_once", "exactly_once"] | None = None
    canary: FlowCanaryConfig = FlowCanaryConfig()
    lag_from: Any = None
    group: Any = None
    offsets: Any = None


class RootSection(Section):
    """The whole file."""

    mm2: str | None = Field(default=None, min_length=1)
    mirror_version: str | None = None
    clusters: dict[str, dict[str, str]] = Field(default_factory=dict, max_length=200)
    flows: dict[FlowName, FlowSection] = Field(default_factory=dict, max_length=1000)
    canary: CanaryConfig = CanaryConfig()
    http: HttpConfig = HttpConfig()
    store: StoreConfig = Field(default_factory=StoreConfig)
    lag: LagConfig = LagConfig()
    checksum: Any = None
    objectives: Any = None
    links: Any = None

    @field_validator("mirror_version")
    @classmethod
    def _known_version(cls, version: str | None) -> str | None:
        if version is not None:
            major_version(version)
        return version
