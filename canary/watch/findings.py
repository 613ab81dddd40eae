"""Lost, altered, misrouted and repeated probes of a flow, and the list of the last losses. Pure.

Related findings of one kind and place are merged for up to a minute, so that a mirror that alters every probe
fills neither memory nor store. A merged finding has the instants of its first and newest probe, and the
offsets of the newest. Its row in the store is keyed by its start, and rewritten as it grows.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from fleet.verdicts.evidence import MAX_FINDINGS, Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_LOSSES = 20
MERGED_S = 60.0
LOOPS = (FindingKind.LOOPED, FindingKind.DUPLICATED, FindingKind.SECOND_WRITER)  # of mirrors in a circle

Row = tuple[FindingKind, float, str, int, int]

_AT = attrgetter("at")


@dataclass(frozen=True, slots=True)
class Loss:
    """One lost probe, or several in a row, for the list of the last losses."""

    at: float
    partition: int
    sequence: int | None  # None where an earlier process found it
    source_offset: int | None
    sentence: str
    count: int


def number_of(one: Finding) -> int:
    """Return a finding's number among those of the same kind, place and time."""
    return one.overtaken + 2 * one.named


def row_of(one: Finding) -> Row:
    """Return the key of a finding's row in the store, without its flow."""
    return one.kind, one.began_at, one.topic, one.partition, number_of(one)


class Findings:
    """Keeps the newest MAX_FINDINGS of each kind, and MAX_LOSSES losses, newest first."""

    def __init__(self) -> None:
        self.losses: deque[Loss] = deque(maxlen=MAX_LOSSES)
        self.latest_at = -math.inf  # the latest instant of all
        self._kept: dict[FindingKind, dict[Row, Finding]] = {kind: {} for kind in FindingKind}
        self._growing: dict[tuple[FindingKind, str, int, int], Finding] = {}  # the newest of each place
        self._fresh: dict[Row, Finding] = {}  # found or counted on since they were last taken

    def inherit(self, found: Iterable[Finding], losses: Iterable[Finding]) -> None:
        """Keep findings of earlier processes, oldest first; they do not grow."""
        for one in found:
            self._keep(one)
        for one in losses:
            loss = Loss(one.at, one.partition, None, one.source_offset, one.sentence, one.count)
            self.losses.appendleft(loss)

    def add(self, finding: Finding, *, pause_s: float) -> None:
        """Add a finding, merged with the last of its kind and place if it follows within `pause_s`.

        The verdict counts two bursts with a pause between them separately.
        """
        place = (finding.kind, finding.topic, finding.partition, number_of(finding))
        held = self._growing.get(place)
        if held is not None and finding.at - held.at <= pause_s and finding.at - held.began_at <= MERGED_S:
            newer = finding if finding.at >= held.at else held
            finding = replace(newer, first_at=held.began_at, count=held.count + finding.count)
        self._growing[place] = finding
        self._fresh[row_of(finding)] = finding
        self._keep(finding)

    def take(self) -> list[Finding]:
        """Return the new and changed findings since the last call."""
        found, self._fresh = list(self._fresh.values()), {}
        return found

    def forget_loops(self) -> None:
        """Forget the findings of a loop that the user declared fixed."""
        for kind in LOOPS:
            self._kept[kind].clear()
        self._growing = {key: one for key, one in self._growing.items() if one.kind not in LOOPS}
        self._fresh = {key: one for key, one in self._fresh.items() if one.kind not in LOOPS}

    def move_instants(self, by_s: float) -> None:
        """Move stored instants after the wall clock was set; stored rows do not change."""
        self.latest_at += by_s
        self._growing.clear()
        for kind, kept in self._kept.items():
            moved = (
                replace(one, at=one.at + by_s, first_at=None if one.first_at is None else one.first_at + by_s)
                for one in kept.values()
            )
            self._kept[kind] = {row_of(one): one for one in moved}
        for index, loss in enumerate(self.losses):
            self.losses[index] = replace(loss, at=loss.at + by_s)

    def all(self) -> tuple[Finding, ...]:
        """Return all findings, oldest first."""
        return tuple(sorted(chain.from_iterable(kept.values() for kept in self._kept.values()), key=_AT))

    def _keep(self, finding: Finding) -> None:
        kept = self._kept[finding.kind]
        kept[row_of(finding)] = finding
        self.latest_at = max(self.latest_at, finding.at)
        if len(kept) > MAX_FINDINGS:
            del kept[next(iter(kept))]
