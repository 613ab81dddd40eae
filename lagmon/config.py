"""The section `lag` of the configuration."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, ValidationInfo, field_validator

from fleet.mm2.filters import EVERYTHING, PatternList
from runtime.config.values import Count, Duration, Flag, Reload, Section, declared


class CommitsFrom(StrEnum):
    """The source of commits."""

    TOPIC = "topic"
    ADMIN = "admin"  # the Admin API, group by group
    OFF = "off"  # no lag monitor


class LagConfig(Section):
    """Which groups are watched, and the limits of their series."""

    commits: CommitsFrom = Field(
        default=CommitsFrom.TOPIC,
        description=(
            "where commits are read: `topic` reads `__consumer_offsets` and falls back to the "
            "Admin API without Read permission; `admin` asks group by group and knows no commit "
            "times; `off` turns the lag monitor off"
        ),
        json_schema_extra=declared(Reload.LAG),
    )
    groups: str = Field(
        default=EVERYTHING,
        description=(
            "consumer groups that are watched: Java regular expressions for whole names, separated by commas"
        ),
        json_schema_extra=declared(Reload.LAG),
    )
    groups_exclude: str = Field(
        default="console-consumer-.*",
        description=(
            "consumer groups that are not watched: Java regular expressions for whole names, "
            "separated by commas"
        ),
        json_schema_extra=declared(Reload.LAG),
    )
    topics: str = Field(
        default=EVERYTHING,
        description=(
            "topics on which groups are watched: Java regular expressions, separated by commas; "
            "mirrors are not affected"
        ),
        json_schema_extra=declared(Reload.LAG),
    )
    topics_exclude: str | None = Field(
        default=None,
        description="topics on which groups are not watched: Java regular expressions, separated by commas",
        json_schema_extra=declared(Reload.LAG),
    )
    per_partition: Flag = Field(
        default=False,
        description="expose the lag of groups and mirrors for each partition as series of their own",
        json_schema_extra=declared(Reload.LAG),
    )
    max_series: Count = Field(
        default=100_000,
        ge=0,
        le=5_000_000,
        description=(
            "most series of each family of the lag monitor, and of each family of failover with a label"
            " `group`; `series_dropped_total` counts those that the lag monitor left out"
        ),
        json_schema_extra=declared(Reload.LAG),
    )
    longest_transaction: Duration = Field(
        default=900.0,
        ge=1,
        le=7 * 86400,
        description=(
            "the brokers' `transaction.max.timeout.ms`: a transaction that is open for longer is "
            "reported as hanging"
        ),
        json_schema_extra=declared(Reload.LAG),
    )

    @property
    def on(self) -> bool:
        """Return whether groups and mirrors are judged from their offsets."""
        return self.commits is not CommitsFrom.OFF

    @field_validator("groups", "groups_exclude", "topics", "topics_exclude")
    @classmethod
    def _usable(cls, text: str | None) -> str | None:
        PatternList(text or "")
        return text

    @field_validator("groups", "topics")
    @classmethod
    def _matching(cls, text: str, info: ValidationInfo) -> str:
        if not any(PatternList(text).entries):
            raise ValueError(
                f"must not be empty; leave it out to watch all {info.field_name}, or write"
                f" {info.field_name}_exclude: '.*' to watch none"
            )
        return text
