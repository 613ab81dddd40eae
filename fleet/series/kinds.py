"""What a series is: its declaration, and a sample of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

PREFIX = "mirrorwatch_"


class Kind(StrEnum):
    """The kind of a metric, in Prometheus' words."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Unit(StrEnum):
    """What a value counts or measures; time is in seconds, always."""

    SECONDS = "seconds"
    EPOCH_SECONDS = "epoch seconds"
    PROBES = "probes"
    RECORDS = "records"
    COMMITS = "commits"
    TOPICS = "topics"
    SERIES = "series"
    BROKERS = "brokers"
    GROUPS = "groups"
    DIFFERENCES = "differences"
    BYTES = "bytes"
    FILES = "files"
    ERRORS = "errors"
    TRUTH = "0 or 1"
    RATIO = "share, 0 to 1"
    SHARE_LEFT = "share, at most 1"
    STATUS = "status, 0 to 7"
    INFO = "always 1"


class Group(StrEnum):
    """The part of the product that a series is about, in the order of the reference."""

    SERVICE = "Service"
    CLUSTER = "Clusters and collectors"
    FLOW = "Flows"
    CANARY = "Canary"
    GROUPS = "Consumer groups"
    REPLICATION = "Replication, from offsets"
    CHECKSUM = "Checksum"
    FAILOVER = "Failover"


@dataclass(frozen=True, slots=True)
class Label:
    """A label's name and meaning, and its values if they are a closed list."""

    name: str
    help: str
    values: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric. `name` is without the prefix; a counter's ends in `_total`; `help` is one noun phrase.

    `notes` are sentences for the reference alone: what absence, bounds and values mean. `prefix` is empty for
    a name that is not Mirrorwatch's own. An opt-in series is exposed only if the configuration enables it.
    """

    name: str
    kind: Kind
    unit: Unit
    group: Group
    help: str
    notes: str = ""
    labels: tuple[Label, ...] = ()
    opt_in: bool = False
    prefix: str = PREFIX

    @property
    def full_name(self) -> str:
        """Return the name in Prometheus."""
        return self.prefix + self.name

    @property
    def label_names(self) -> tuple[str, ...]:
        """Return the names of the labels, in the order of their values."""
        return tuple(label.name for label in self.labels)


class Buckets(Protocol):
    """The value of a histogram: counts by upper edge, and the sum of all values."""

    sum_s: float

    def cumulative(self) -> list[tuple[str, int]]:
        """Return (upper edge, number of values up to it), the last for +Inf."""
        ...


Sample: TypeAlias = "tuple[Series, tuple[str, ...], float | Buckets]"
"""A series, the values of its labels in their order, and its value."""
