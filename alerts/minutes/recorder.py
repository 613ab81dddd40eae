"""The worst of each minute from samples of each flow. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.probe_history import MINUTE_S, ValueRun

if TYPE_CHECKING:
    from collections.abc import Mapping

SAMPLE_S = 5


@dataclass(frozen=True, slots=True)
class Sample:
    """Present values of a flow: ages in seconds, None if unknown.

    `audited_at` (epoch s) is the oldest last complete checksum of a topic.
    """

    lag_s: float | None = None
    recovery_point_s: float | None = None
    audited_at: float | None = None


class MinuteRecorder:
    """Keeps the worst of the current minute for each flow, sampled every `SAMPLE_S` seconds."""

    def __init__(self) -> None:
        self._minute = -1
        self._rows: dict[str, ValueRun] = {}

    def take(self, at: float, samples: Mapping[str, Sample]) -> dict[str, ValueRun]:
        """Add samples of one time (epoch s); return the rows of the last minute if it is over.

        Samples of an earlier minute, after a clock was set back, are dropped.
        """
        minute = int(at // MINUTE_S)
        if minute < self._minute:
            return {}
        over = self._over() if minute > self._minute else {}
        self._minute = minute
        for flow, sample in samples.items():
            row = ValueRun(minute, 1, SAMPLE_S, sample.lag_s, sample.recovery_point_s, sample.audited_at)
            self._rows[flow] = joined(self._rows[flow], row) if flow in self._rows else row
        return over

    def end(self) -> dict[str, ValueRun]:
        """Return the rows of the unfinished minute; the next minute may be earlier."""
        self._minute = -1
        return self._over()

    def _over(self) -> dict[str, ValueRun]:
        rows, self._rows = self._rows, {}
        return rows


def joined(one: ValueRun, other: ValueRun) -> ValueRun:
    """Return the values of one minute, from two parts of it."""
    return ValueRun(
        one.first,
        1,
        min(MINUTE_S, one.observed_s + other.observed_s),
        _worst(one.lag_s, other.lag_s),
        _worst(one.recovery_point_s, other.recovery_point_s),
        _oldest(one.audited_at, other.audited_at),
    )


def _worst(one: float | None, other: float | None) -> float | None:
    """Return the larger of two ages; either may be unknown."""
    return max((age for age in (one, other) if age is not None), default=None)


def _oldest(one: float | None, other: float | None) -> float | None:
    """Return the earlier of two times; either may be unknown."""
    return min((at for at in (one, other) if at is not None), default=None)
