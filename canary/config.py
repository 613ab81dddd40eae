"""Section `canary` of the configuration, and what a flow may set of it."""

from __future__ import annotations

import re
from enum import StrEnum

from pydantic import Field, ValidationInfo, field_validator

from runtime.config.values import Count, Duration, Flag, Reload, Section, declared


class CanaryMode(StrEnum):
    """Whether Mirrorwatch creates the canary's topics, only uses them, or sends no probes."""

    CREATE = "create"
    PRECREATED = "precreated"
    OFF = "off"


class CanaryConfig(Section):
    """How the canary probes; durations in seconds."""

    mode: CanaryMode = Field(
        default=CanaryMode.CREATE,
        description=(
            "`create` makes missing canary topics; `precreated` only uses them; `off` sends no probes"
        ),
        json_schema_extra=declared(Reload.NEXT_START),
    )
    topic: str = Field(
        default="mirrorwatch-canary",
        description=(
            "the canary topic on every source cluster; MirrorMaker must not treat its name as internal"
        ),
        json_schema_extra=declared(Reload.NEXT_START),
    )
    interval: Duration = Field(
        default=1.0,
        ge=0.01,
        le=3600,
        description="time between two probes of a partition",
        json_schema_extra=declared(Reload.ALL_FLOWS),
    )
    threshold: Duration = Field(
        default=5.0,
        gt=0,
        description="latency above which a probe is late; a flow may have its own",
        json_schema_extra=declared(Reload.ITS_FLOWS),
    )
    horizon: Duration = Field(
        default=60.0,
        gt=0,
        le=86400,
        description="time after which a probe that has not arrived is overdue; at least the threshold",
        json_schema_extra=declared(Reload.ALL_FLOWS),
    )
    max_partitions: Count = Field(
        default=64,
        ge=1,
        le=1000,
        description="most partitions of a canary topic that Mirrorwatch creates",
        json_schema_extra=declared(Reload.AT_ONCE),
    )
    replication_factor: Count | None = Field(
        default=None,
        ge=1,
        le=32_767,
        description="replication factor of a canary topic that Mirrorwatch creates",
        json_schema_extra=declared(Reload.AT_ONCE, default="the cluster's"),
    )
    max_rate: Count = Field(
        default=1000,
        ge=1,
        le=100_000,
        description=(
            "most probes per second over all source clusters; every interval is stretched beyond it"
        ),
        json_schema_extra=declared(Reload.AT_ONCE),
    )
    grow: Flag = Field(
        default=False,
        description=(
            "in mode `create`, add partitions to a canary topic that has too few; MirrorMaker "
            "restarts its tasks then"
        ),
        json_schema_extra=declared(Reload.AT_ONCE),
    )
    per_partition: Flag = Field(
        default=False,
        description="expose the outcomes of each partition as series of their own",
        json_schema_extra=declared(Reload.AT_ONCE),
    )

    @field_validator("topic")
    @classmethod
    def _legal(cls, name: str) -> str:
        if name in {".", ".."} or not re.fullmatch(r"[a-zA-Z0-9._-]{1,200}", name):
            raise ValueError(
                f"invalid topic name '{name[:60]}'; use up to 200 letters, digits, '.', '_' and '-'"
            )
        return name

    @field_validator("horizon")
    @classmethod
    def _beyond_threshold(cls, horizon: float, info: ValidationInfo) -> float:
        threshold = info.data.get("threshold")
        if threshold is not None and horizon < threshold:
            raise ValueError(
                f"{horizon:g} s is shorter than the threshold ({threshold:g} s), so no probe could be late;"
                " set the horizon to the threshold or more"
            )
        return horizon


class FlowCanaryConfig(Section):
    """What one flow sets for itself under `flows.A->B.canary`."""

    threshold: Duration | None = Field(
        default=None,
        gt=0,
        description="latency above which a probe of this flow is late; at most `canary.horizon`",
        json_schema_extra=declared(Reload.ITS_FLOWS, default="`canary.threshold`"),
    )
