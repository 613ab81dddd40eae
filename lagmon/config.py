"""The section `lag` of the configuration."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, ValidationInfo, field_validator

from fleet.mm2.filters import EVERYTHING, PatternList
from runtime.config.sections import Count, Duration, Flag, Section


class CommitsFrom(StrEnum):
    """Where commits are taken from."""

    TOPIC = "topic"
    ADMIN = "admin"  # the Admin API, group by group
    OFF = "off"  # nowhere: there is no lag monitor


class LagConfig(Section):
    """Which groups are watched, and what is told of them."""

    commits: CommitsFrom = CommitsFrom.TOPIC
    groups: str = EVERYTHING
    groups_exclude: str = "console-consumer-.*"
    topics: str = EVERYTHING  # of groups: what mirrors carry is for their own filters to say
    topics_exclude: str | None = None
    per_partition: Flag = False  # tell the lag of each partition as a series of its own
    max_series: Count = Field(default=100_000, ge=0, le=5_000_000)  # of each family
    longest_transaction: Duration = Field(default=900.0, ge=1, le=7 * 86400)  # as the brokers allow

    @property
    def on(self) -> bool:
        """Tell whether groups and mirrors are judged from their offsets."""
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
                f"is empty, which lets nothing through: leave it out to watch all {info.field_name}, or write"
                f" {info.field_name}_exclude: '.*' to watch none"
            )
        return text
