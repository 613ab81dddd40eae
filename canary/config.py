"""The section `canary` of the configuration, and what a single flow may set of it."""

from __future__ import annotations

import re
from enum import StrEnum

from pydantic import Field, ValidationInfo, field_validator

from runtime.config.sections import Count, Duration, Flag, Section


class CanaryMode(StrEnum):
    """Whether the canary's topics are made by us, only used, or not there."""

    CREATE = "create"
    PRECREATED = "precreated"
    OFF = "off"


class CanaryConfig(Section):
    """How the canary probes; durations in seconds."""

    mode: CanaryMode = CanaryMode.CREATE
    topic: str = "mirrorwatch-canary"
    interval: Duration = Field(default=1.0, ge=0.01, le=3600)
    threshold: Duration = Field(default=5.0, gt=0)
    horizon: Duration = Field(default=60.0, gt=0, le=86400)
    max_partitions: Count = Field(default=64, ge=1, le=1000)
    max_rate: Count = Field(default=1000, ge=1, le=100_000)  # probes per second over all sources
    grow: Flag = False  # add partitions to a topic that has fewer than the plan
    per_partition: Flag = False  # tell the outcomes of each partition as series of their own

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

    threshold: Duration | None = Field(default=None, gt=0)
