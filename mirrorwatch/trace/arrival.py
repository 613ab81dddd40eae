"""When a record arrived on a target, exact or as a bound. Pure.

With LogAppendTime, the target's broker writes the moment into the record. Otherwise an offset sync of this
record or a later one was written after it had arrived.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.dialect import moment_ms_text
from fleet.quantity import duration_text

if TYPE_CHECKING:
    from lagmon.syncs.pairs import SyncPair
    from runtime.kafka.picking import PickedRecord


@dataclass(frozen=True, slots=True)
class Arrival:
    """The moment of arrival (epoch ms), or the latest possible one.

    `delay_ms` is the time since the record's own timestamp, None if it has none.
    """

    at_ms: int
    exact: bool
    delay_ms: int | None


def arrival_of(source: PickedRecord, target: PickedRecord | None, by: SyncPair | None) -> Arrival | None:
    """Return when a record arrived, by the record that was found and the first sync at or after it."""
    if target is not None and target.stamped:
        return Arrival(target.timestamp_ms, True, _delay_ms(source, target.timestamp_ms))
    if by is not None and by.at_ms >= 0:
        return Arrival(by.at_ms, False, _delay_ms(source, by.at_ms))
    return None


def arrival_text(arrival: Arrival) -> str:
    """Return the moment and the delay as text."""
    at = moment_ms_text(arrival.at_ms) or "?"
    start = f"at {at}, by the target's broker" if arrival.exact else f"at {at} or before, by an offset sync"
    if arrival.delay_ms is None:
        return f"{start}; the record has no timestamp"
    if arrival.delay_ms < 0:
        return f"{start}; that is before the record's timestamp, so the clocks differ"
    most = "" if arrival.exact else "at most "
    return f"{start}; {most}{duration_text(arrival.delay_ms / 1000)} after the record's timestamp"


def _delay_ms(source: PickedRecord, at_ms: int) -> int | None:
    return None if source.timestamp_ms < 0 else at_ms - source.timestamp_ms
