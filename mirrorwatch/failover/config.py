"""The section `failover` of the configuration."""

from __future__ import annotations

from pydantic import Field

from runtime.config.values import Duration, Flag, Reload, Section, declared


class FailoverConfig(Section):
    """The audit of failover readiness, a process of its own beside the lag monitor."""

    audit: Flag = Field(
        default=True,
        description=(
            "whether the service audits where each consumer group would start on the target; off with"
            " `lag.commits: off`"
        ),
        json_schema_extra=declared(Reload.AT_ONCE),
    )
    interval: Duration = Field(
        default=60.0,
        ge=5,
        le=300,
        description="time between two audits",
        json_schema_extra=declared(Reload.AT_ONCE),
    )
