"""Whether a repeat is no more than one restart of the mirror explains. Pure.

With at-least-once delivery, a killed mirror replicates again what it replicated since it last wrote its
offsets: at most one flush interval, plus a horizon (faults.md calls that benign). Offset syncs run ahead of
those offsets, so the first sync after the restart is below them. Offsets themselves never step back, as a
restart continues at the newest. A step further back than that, or repeated steps, show a second writer or a
loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import count_text
from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors.answers.findings import HELD_MS
from lagmon.mirrors.answers.orders import OFFSET_SYNCS
from lagmon.mirrors.detectors.rewinds.steps import SEVERAL, Rewound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lagmon.mirrors.detectors.rewinds.steps import Step
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView

    Name = tuple[str, int]  # topic and partition

HORIZON_MS = 60_000  # the canary's by default: duplicates that end within one of a restart are benign


@dataclass(frozen=True, slots=True)
class Window:
    """Offsets of one partition and when each was written, oldest first, and its place on the source."""

    offsets: Sequence[int]
    times: Sequence[int]
    place: int


@dataclass(slots=True)
class Replays:
    """The recent steps back of one flow after which records were repeated."""

    _steps: dict[Name, dict[int, Step]] = field(default_factory=dict)  # by the time of each step

    def judge(
        self, flow: FlowView, partitions: PartitionsSnapshot, name: Name, step: Step, window: Window
    ) -> Step:
        """Return the meaning of a step after which records were repeated: a repeat, or a restart."""
        if step.means is not Rewound.REPEATED or flow.order.lag_from != OFFSET_SYNCS:
            if step.means is Rewound.LATE:
                self._steps.get(name, {}).pop(step.at_ms, None)
            return step
        if (
            flow.order.flow.exactly_once or step.cut >= 0
        ):  # then no repeat is allowed, or it has another cause
            return step
        steps = self._steps.setdefault(name, {})
        known = steps.get(step.at_ms)
        if known is None:  # decided once: later the window may not reach back so far
            flush_ms = max(partitions.cadence_ms, int(1000 * flow.order.flow.offset_flush_interval_s))
            is_short = _ahead_ms(flow, step, window) <= flush_ms + HORIZON_MS
            is_one = max(len(steps) + 1, _falls(window)) < SEVERAL
            known = replace(step, means=Rewound.RESTARTED if is_short and is_one else step.means)
        steps[step.at_ms] = replace(step, means=known.means, records=max(step.records, known.records))
        return steps[step.at_ms]

    def follow(self, now_ms: int) -> None:
        """Forget old steps."""
        for name, steps in list(self._steps.items()):
            self._steps[name] = {at_ms: one for at_ms, one in steps.items() if now_ms - at_ms <= HELD_MS}
            if not self._steps[name]:
                del self._steps[name]

    def sentence(self, flow: FlowView) -> str:
        """Return what a restart replicated again, "" for nothing."""
        newest = {name: steps[max(steps)] for name, steps in self._steps.items() if steps}
        found = {name: step for name, step in newest.items() if step.means is Rewound.RESTARTED}
        if not found:
            return ""
        topic, partition = min(found, key=lambda name: (-found[name].records, name))
        step, others = found[topic, partition], len(found) - 1
        more = f" (and of {count_text(others, 'more partition')})" if others else ""
        return (
            f"{count_text(step.records, 'record')} of {topic}-{partition} reached {flow.order.flow.target}"
            f" again{more}: the mirror went back from {step.peak} to {step.back} at"
            f" {instant_text(step.at_ms)}, as after a kill and restart."
        )


def _falls(window: Window) -> int:
    return int(np.count_nonzero(np.diff(np.array(window.offsets)) < 0))


def _ahead_ms(flow: FlowView, step: Step, window: Window) -> int:
    """Return how long before its highest offset the mirror had been where it went back to, as far as known.

    For an offset before the window, the window's pace and the source give it: it is not older than its
    record.
    """
    offsets, times = window.offsets, window.times
    first = next(at for at, one in enumerate(offsets) if one >= step.peak)
    if offsets[0] <= step.back:
        line = np.maximum.accumulate(np.array(offsets[: first + 1], np.float64))
        return times[first] - round(float(np.interp(step.back, line, times[: first + 1])))
    passed_ms, _ = flow.source.heads.passed_ms(np.array([window.place], np.int32), np.array([step.back]))
    since_ms = [int(passed_ms[0])] if passed_ms[0] >= 0 else []
    if step.peak > offsets[0]:
        each_ms = (times[first] - times[0]) / (step.peak - offsets[0])
        since_ms.append(times[0] - round((offsets[0] - step.back) * each_ms))
    return times[first] - max(since_ms, default=0)
