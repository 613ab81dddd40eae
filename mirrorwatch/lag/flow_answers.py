"""The last answers of the lag monitor about each flow, and how long they are used. Pure.

An answer is used for STALE_S. Findings (lost, altered or repeated records) stay longer: an answer of another
process (`incarnation`), which may not know them, does not remove them. A finding that the same process no
longer lists is removed after a delay: the monitor counts overtaken records again after the mirror has passed
them, and does not list them meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fleet.quantity import duration_text
from fleet.verdicts.evidence import LagEvidence
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.verdicts.words import HOLD_S, holding
from mirrorwatch.lag.evidence import events_in, evidence_of, findings_in, repeated_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.verdicts.evidence import LagFinding
    from mirrorwatch.service.view import EventView

    About = tuple[Cause, str, int | None]  # topic and partition

STALE_S = 10.0  # the service polls once a second
COUNTED_S = 120.0  # the monitor lists passed records again within this time, or four times `settles_s`
MAX_FINDINGS = 200  # losses and changes, the newest


@dataclass(frozen=True, slots=True)
class _Listed:
    """The findings about one subject, as last listed."""

    findings: tuple[LagFinding, ...]
    at: float
    incarnation: int


@dataclass(slots=True)
class _Known:
    """The last answer about one flow."""

    document: Mapping[str, Any] | None = None
    evidence: LagEvidence | None = None  # of the last answer
    listed: dict[About, _Listed] = field(default_factory=dict)
    repeated: LagFinding | None = None
    told_ns: int | None = None  # time of the last answer
    down_at: float | None = None  # the last time at which no partition moved


class FlowAnswers:
    """Keeps the evidence of each flow that is watched by offsets; `_at` is epoch s, `_ns` monotonic."""

    def __init__(self, flows: Iterable[str]) -> None:
        self._flows = {name: _Known() for name in flows}
        self._answered_ns: int | None = None
        self.silence = "No answer from the lag monitor yet."  # why there is no answer, "" if there is one

    def watch(self, flows: Iterable[str], *, anew: Iterable[str] = ()) -> None:
        """Keep these flows from now on; forget answers about flows in `anew`."""
        former = {name: known for name, known in self._flows.items() if name not in set(anew)}
        self._flows = {name: former.get(name) or _Known() for name in flows}

    def take(
        self, documents: Iterable[Mapping[str, Any]], *, incarnation: int, now_at: float, now_ns: int
    ) -> None:
        """Use an answer about every flow."""
        self._answered_ns, self.silence = now_ns, ""
        for document in documents:
            known = self._flows.get(document["flow"])
            if known is not None:
                _take(known, document, now_at, incarnation)
                known.told_ns = now_ns

    def fall_silent(self, sentence: str) -> None:
        """Note that the monitor gave no answer, and why."""
        self.silence = sentence

    def evidence(self, flow: str, *, now_ns: int) -> LagEvidence | None:
        """Return the evidence of a flow by offsets; None if its offsets are not watched."""
        known = self._flows.get(flow)
        if known is None:
            return None
        if known.evidence is not None and _age_s(known.told_ns, now_ns) <= STALE_S:
            return known.evidence
        silent = LagEvidence(Verdict.UNKNOWN, None, self._why_silent(known, now_ns), 0.0, 0.0)
        if known.evidence is None:
            return silent
        found, more = known.evidence.findings, known.evidence.more_found
        return replace(silent, findings=found, more_found=more)

    def events(self, flow: str) -> tuple[EventView, ...]:
        """Return the events of a flow in the last day, newest first."""
        known = self._flows.get(flow)
        return () if known is None or known.document is None else events_in(known.document)

    def lag_records(self, flow: str, *, now_ns: int) -> int | None:
        """Return the lag of a flow in records; None if unknown."""
        known = self._flows.get(flow)
        if known is None or known.document is None or _age_s(known.told_ns, now_ns) > STALE_S:
            return None
        lag: int | None = known.document["lag_records"]
        return lag

    def canary_offsets(self, flow: str) -> tuple[str, dict[int, int], float] | None:
        """Return topic id and committed offsets of the canary topic from the last answer, and `settles_s`."""
        known = self._flows.get(flow)
        if known is None or known.document is None or known.evidence is None or self.silence:
            return None
        told = known.document.get("canary")
        if told is None or not told["source_topic_id"]:
            return None
        offsets = {int(partition): int(offset) for partition, offset in told["next_offsets"]}
        return told["source_topic_id"], offsets, known.evidence.settles_s

    def _why_silent(self, known: _Known, now_ns: int) -> str:
        """Return why there is no answer about a flow."""
        answered_s = _age_s(self._answered_ns, now_ns)
        if self.silence:
            return self.silence
        if answered_s > STALE_S:
            return f"No answer from the lag monitor for {duration_text(answered_s)}."
        if known.told_ns is None:
            return "No answer from the lag monitor about this flow yet."
        age = duration_text(_age_s(known.told_ns, now_ns))
        return f"No answer from the lag monitor about this flow for {age}."

    def move_instants(self, by_s: float) -> None:
        """Shift times after the wall clock was set by this many seconds."""
        for known in self._flows.values():
            known.listed = {
                about: replace(one, findings=_moved(one.findings, by_s), at=one.at + by_s)
                for about, one in known.listed.items()
            }
            if known.repeated is not None:
                (known.repeated,) = _moved((known.repeated,), by_s)
            if known.down_at is not None:
                known.down_at += by_s
            one = known.evidence
            if one is not None:
                moved = tuple(at + by_s for at in one.moved)
                findings = _moved(one.findings, by_s)
                known.evidence = replace(one, since_at=one.since_at + by_s, moved=moved, findings=findings)


def _age_s(then_ns: int | None, now_ns: int) -> float:
    return 0.0 if then_ns is None else (now_ns - then_ns) / 1e9


def _when(finding: LagFinding) -> float:
    return finding.at


def _moved(findings: Iterable[LagFinding], by_s: float) -> tuple[LagFinding, ...]:
    return tuple(replace(one, at=one.at + by_s) for one in findings)


def _take(known: _Known, document: Mapping[str, Any], now_at: float, incarnation: int) -> None:
    known.document = document
    _list(known, document, now_at, incarnation)
    if document["verdict"] == Verdict.REPEATING:
        known.repeated = repeated_in(document, now_at)
    held = holding((one for listed in known.listed.values() for one in listed.findings), now_at)
    newest = held if len(held) <= MAX_FINDINGS else sorted(held, key=_when)[-MAX_FINDINGS:]
    repeated = () if known.repeated is None else holding((known.repeated,), now_at)
    moved = () if known.evidence is None else known.evidence.moved
    told = evidence_of(document, (*newest, *repeated), now_at=now_at, down_at=known.down_at, moved=moved)
    known.evidence = replace(told, more_found=told.more_found or len(held) > MAX_FINDINGS)
    if known.evidence.cause is Cause.MIRROR_DOWN:
        known.down_at = now_at


def _list(known: _Known, document: Mapping[str, Any], now_at: float, incarnation: int) -> None:
    kept_s = max(COUNTED_S, 4 * document["settles_s"])
    newly: dict[About, list[LagFinding]] = {}
    for one in findings_in(document):
        newly.setdefault((one.cause, one.topic, one.partition), []).append(one)
    known.listed = {
        about: listed
        for about, listed in known.listed.items()
        if listed.incarnation != incarnation or now_at - listed.at <= kept_s
        if max(one.at for one in listed.findings) >= now_at - HOLD_S
    } | {about: _Listed(tuple(some), now_at, incarnation) for about, some in newly.items()}
