"""False verdicts and missed faults, from what both replicas logged. Pure.

A verdict is false if it is not healthy outside of all windows, or if the fault of its window does not cause
it. A fault is missed if what it must show was not logged within its limit. All instants are in epoch seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bench.soak.faults import FLOWS, NONE, Signal
from fleet.verdicts.vocabulary import BAD, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bench.soak.faults import Fault

HEALTHY = (Verdict.HEALTHY.value, NONE)
# The service judges four times a second, and logs after that.
CLOCK_S = 0.5
# A fault of a flow may be followed by "not enough data" for so long, when records arrive again.
UNKNOWN_S = 2.0


class Change(NamedTuple):
    """A new verdict of a flow, as a replica logged it."""

    at: float
    flow: str
    verdict: str
    cause: str
    sentence: str
    replica: str


class Shown(NamedTuple):
    """An event that a replica logged."""

    at: float
    signal: Signal
    replica: str


class Incident(NamedTuple):
    """An incident as the API lists it."""

    flow: str
    started_at: float
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A fault that was injected: its order, the order to end it, its component ready again, and the end."""

    fault: Fault
    at: float
    ended_at: float
    restored_at: float
    until: float


class Segment(NamedTuple):
    """A verdict of a flow from one instant to another."""

    at: float
    until: float
    change: Change


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, with the fault before it."""

    at: float
    kind: str  # false_verdict, missed, false_lead, false_incident
    flow: str
    verdict: str
    cause: str
    sentence: str
    lasted_s: float
    fault: str  # the last one before it, "" if there was none
    since_fault_s: float  # since its order
    in_window: bool


def of_leaders(changes: Iterable[Change], shown: Iterable[Shown]) -> list[Change]:
    """Return the changes of the replica that led at their time, in order.

    A leader that was frozen judges once more before it finds out that it has lost the lead. From then on the
    group has the verdicts of the new leader.
    """
    leads = sorted((one.at, one.replica) for one in shown if one.signal is Signal.LEADER)
    found = []
    for change in sorted(changes):
        leader = next((replica for at, replica in reversed(leads) if at <= change.at), change.replica)
        if change.replica == leader:
            found.append(change)
    return found


def segments(changes: Iterable[Change], *, begin: float, end: float) -> list[Segment]:
    """Return from when to when each verdict held between two instants."""
    found: list[Segment] = []
    ordered = sorted(changes)
    for flow in FLOWS:
        mine = [one for one in ordered if one.flow == flow and one.at < end]
        limits = [*(one.at for one in mine), end]
        found += [
            Segment(max(since, begin), until, one)
            for one, (since, until) in zip(mine, pairwise(limits), strict=True)
            if until > max(since, begin)
        ]
    return sorted(found)


def false_verdicts(
    changes: Iterable[Change], windows: Sequence[Window], *, begin: float, end: float
) -> list[Finding]:
    """Return every verdict that no fault explains, with the seconds that it lasted unexplained."""
    found = []
    for one in segments(changes, begin=begin, end=end):
        pair = (one.change.verdict, one.change.cause)
        if pair == HEALTHY:
            continue
        inside = [window for window in windows if window.at < one.until and window.until > one.at]
        wrong = [window for window in inside if not _explains(window.fault, one)]
        parts = [(max(one.at, window.at), min(one.until, window.until)) for window in wrong]
        parts += [(at, until) for at, until in _outside(one, inside) if until - at > CLOCK_S]
        for at, until in _joined(parts):
            in_window = not is_quiet(at, wrong)
            found.append(_finding("false_verdict", one.change, at, until, windows, in_window=in_window))
    return sorted(found, key=lambda one: (one.at, one.flow))


def _explains(fault: Fault, one: Segment) -> bool:
    may_be = fault.may_be(one.change.flow)
    is_brief = one.change.verdict == Verdict.UNKNOWN and one.until - one.at <= UNKNOWN_S
    return (one.change.verdict, one.change.cause) in may_be or (is_brief and bool(may_be))


def missed(changes: Sequence[Change], shown: Sequence[Shown], windows: Sequence[Window]) -> list[Finding]:
    """Return for each fault what it must show and did not show within its limit."""
    found = []
    for window in windows:
        found += [
            _missed(window, flow, _seen(changes, window, flow))
            for flow in window.fault.expected
            if detected_s(changes, window, flow) is None
        ]
        if window.fault.signal is not Signal.NONE and shown_s(shown, window) is None:
            found.append(_missed(window, "", f"no event '{window.fault.signal}'"))
    return found


def detected_s(changes: Iterable[Change], window: Window, flow: str) -> float | None:
    """Return the seconds from the order to the expected verdict of a flow; None if it was missed."""
    expected = window.fault.expected[flow]
    latest = window.at + window.fault.limit_s
    at = (
        one.at
        for one in changes
        if one.flow == flow and window.at <= one.at <= latest and (one.verdict, one.cause) in expected
    )
    first = min(at, default=None)
    return None if first is None else round(first - window.at, 2)


def shown_s(shown: Iterable[Shown], window: Window) -> float | None:
    """Return the seconds from the order to the event that shows the fault; None if it was missed."""
    latest = window.at + window.fault.limit_s
    at = (one.at for one in shown if one.signal is window.fault.signal and window.at <= one.at <= latest)
    first = min(at, default=None)
    return None if first is None else round(first - window.at, 2)


def healthy_after_s(changes: Iterable[Change], window: Window, *, end: float) -> float | None:
    """Return the seconds from the order to end a fault until both flows were healthy for good.

    None if they were not healthy at the end of the window.
    """
    latest = min(window.until, end)
    wrong = [
        one
        for one in segments(changes, begin=window.at, end=latest)
        if (one.change.verdict, one.change.cause) != HEALTHY
    ]
    last = max((one.until for one in wrong), default=window.ended_at)
    if wrong and last >= latest:
        return None
    return round(max(0.0, last - window.ended_at), 2)


def false_leads(shown: Iterable[Shown], windows: Sequence[Window]) -> list[Finding]:
    """Return changes of the lead that no fault explains."""
    found = []
    for one in shown:
        inside = any(w.fault.moves_lead and w.at <= one.at <= w.until for w in windows)
        if one.signal is Signal.LEADER and not inside:
            sentence = f"replica {one.replica} took the lead"
            change = Change(one.at, "", "", NONE, sentence, one.replica)
            in_window = any(w.at <= one.at <= w.until for w in windows)
            found.append(_finding("false_lead", change, one.at, one.at, windows, in_window=in_window))
    return found


def false_incidents(
    incidents: Iterable[Incident], windows: Sequence[Window], *, begin: float
) -> list[Finding]:
    """Return incidents that started while no fault explains a bad verdict of their flow."""
    bad = {verdict.value for verdict in BAD}
    found = []
    for one in incidents:
        explained = any(
            w.at <= one.started_at <= w.until and bad & {verdict for verdict, _ in w.fault.may_be(one.flow)}
            for w in windows
        )
        if one.started_at >= begin and not explained:
            sentence = f"an incident started: {', '.join(one.conditions)}"
            change = Change(one.started_at, one.flow, one.conditions[0], NONE, sentence, "")
            in_window = any(w.at <= one.started_at <= w.until for w in windows)
            at = one.started_at
            found.append(_finding("false_incident", change, at, at, windows, in_window=in_window))
    return found


def seconds_by_verdict(
    changes: Iterable[Change], windows: Sequence[Window], *, begin: float, end: float
) -> dict[str, dict[str, float]]:
    """Return by flow how long each verdict held, and how long the flow was healthy in quiet periods."""
    found: dict[str, dict[str, float]] = {flow: {} for flow in FLOWS}
    for one in segments(changes, begin=begin, end=end):
        held = found[one.change.flow]
        name = one.change.verdict if one.change.cause == NONE else f"{one.change.verdict} {one.change.cause}"
        held[name] = held.get(name, 0.0) + one.until - one.at
        quiet_s = sum(until - at for at, until in _outside(one, windows))
        held[f"{name}, quiet"] = held.get(f"{name}, quiet", 0.0) + quiet_s
    return {flow: {name: round(s, 1) for name, s in held.items() if s > 0} for flow, held in found.items()}


def is_quiet(at: float, windows: Iterable[Window]) -> bool:
    """Return whether an instant is in no window."""
    return not any(window.at <= at <= window.until for window in windows)


def quiet_s(windows: Iterable[Window], *, begin: float, end: float) -> float:
    """Return how long no window was open between two instants."""
    inside = sum(max(0.0, min(w.until, end) - max(w.at, begin)) for w in windows)
    return end - begin - inside


def _outside(one: Segment, windows: Iterable[Window]) -> list[tuple[float, float]]:
    """Return the parts of a segment that are in no window."""
    parts, at = [], one.at
    for window in sorted(windows, key=lambda window: window.at):
        if window.until <= at or window.at >= one.until:
            continue
        if window.at > at:
            parts.append((at, window.at))
        at = window.until
    if at < one.until:
        parts.append((at, one.until))
    return parts


def _joined(parts: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return periods in order; those that touch are one."""
    joined: list[tuple[float, float]] = []
    for at, until in sorted(parts):
        if joined and at <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(until, joined[-1][1])
        else:
            joined.append((at, until))
    return joined


def _seen(changes: Iterable[Change], window: Window, flow: str) -> str:
    words = [
        f"{one.verdict} {one.cause} after {one.at - window.at:.1f} s"
        for one in sorted(changes)
        if one.flow == flow and window.at <= one.at <= window.restored_at
    ]
    return f"reported instead: {', '.join(words) or 'nothing'}"


def _missed(window: Window, flow: str, sentence: str) -> Finding:
    verdict, cause = min(window.fault.expected.get(flow, {("", "")}))
    return Finding(
        window.at,
        "missed",
        flow,
        verdict,
        cause,
        sentence,
        window.fault.limit_s,
        window.fault.name,
        0.0,
        True,
    )


def _finding(
    kind: str, change: Change, at: float, until: float, windows: Iterable[Window], *, in_window: bool
) -> Finding:
    before = max((w for w in windows if w.at <= at), key=lambda w: w.at, default=None)
    return Finding(
        at,
        kind,
        change.flow,
        change.verdict,
        change.cause,
        change.sentence,
        round(until - at, 2),
        "" if before is None else before.fault.name,
        0.0 if before is None else round(at - before.at, 1),
        in_window,
    )


def by_replica(shown: Iterable[Shown]) -> Mapping[str, int]:
    """Return how often each replica took the lead."""
    found: dict[str, int] = {}
    for one in shown:
        if one.signal is Signal.LEADER:
            found[one.replica] = found.get(one.replica, 0) + 1
    return found
