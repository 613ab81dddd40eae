"""Kinds of drift, the differences of each kind, and the drift of a flow. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.verdicts.flow import Flow


class Kind(StrEnum):
    """What is compared."""

    TOPIC_MISSING = "topic_missing"
    PARTITION_COUNT = "partition_count"
    CONFIG = "config"
    ACL = "acl"
    LOOP = "loop"


class Verdict(StrEnum):
    """The result of a comparison, worst first."""

    DIFFERS = "differs"
    NOT_COMPARED = "not_compared"  # at least in part, and nothing differs in the rest
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Difference:
    """The source next to the target, in one respect.

    `subject` is a topic of the source, or the pattern of an ACL; empty for the clusters themselves. `remote`
    is its name on the target. `what` is what differs, such as `retention.ms`; `source` and `target` are the
    values, None for none. `advice` says why and what to do, without names: it is equal for equal differences.
    `until_ms` is when an expected topic is due.
    """

    kind: Kind
    subject: str
    remote: str
    what: str
    source: str | None
    target: str | None
    advice: str
    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Omission:
    """What was not compared and why; without `subjects`, nothing of this kind was."""

    why: str
    subjects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One kind of drift of a flow: how many topics or ACLs were compared, and what differs.

    `remarks` are worth knowing and no drift. `note` is why there was nothing to compare.
    """

    kind: Kind
    compared: int
    differences: tuple[Difference, ...] = ()
    remarks: tuple[Difference, ...] = ()
    omissions: tuple[Omission, ...] = ()
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        """Return `same` only if all was compared."""
        if self.differences:
            return Verdict.DIFFERS
        return Verdict.NOT_COMPARED if self.omissions else Verdict.SAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The topics of a source by what a flow does with them; each counts once.

    `replicated` are on the target. `missing` match the filter and are not there; `expected` are not there
    yet. `excluded` are excluded by the filter, `internal` are those of Kafka, MirrorMaker and Mirrorwatch,
    and `from_target` were replicated from the target. `unknown` may or may not be on the target.
    """

    replicated: int
    missing: int
    expected: int
    excluded: int
    internal: int
    from_target: int
    unknown: int

    @property
    def topics(self) -> int:
        """Return how many topics the source has."""
        return sum(getattr(self, one.name) for one in fields(self))


@dataclass(frozen=True, slots=True)
class FlowDrift:
    """The drift of a flow: one comparison of each kind."""

    flow: Flow
    inventory: Inventory
    comparisons: tuple[Comparison, ...]

    @property
    def verdict(self) -> Verdict:
        """Return the worst verdict of its kinds."""
        return worst(one.verdict for one in self.comparisons)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst verdict; `same` if there is none."""
    return min(verdicts, key=_RANK.__getitem__, default=Verdict.SAME)


_RANK = {verdict: number for number, verdict in enumerate(Verdict)}


def drift_counts(drift: FlowDrift) -> dict[Kind, int | None]:
    """Return how many differences there are of each kind.

    It is None if there are none in what was compared, and something was not.
    """
    return {
        one.kind: None if one.verdict is Verdict.NOT_COMPARED else len(one.differences)
        for one in drift.comparisons
    }


@dataclass(frozen=True, slots=True)
class Group:
    """Equal differences of many topics; `first` stands for all of them."""

    first: Difference
    subjects: list[str] = field(default_factory=list)


def grouped(differences: Iterable[Difference]) -> list[Group]:
    """Return equal differences together, those of most topics first."""
    found: dict[tuple[object, ...], Group] = {}
    for one in differences:
        key = (one.kind, one.what, one.source, one.target, one.advice, not one.subject)
        found.setdefault(key, Group(one)).subjects.append(one.subject)
    return sorted(found.values(), key=lambda group: -len(group.subjects))
