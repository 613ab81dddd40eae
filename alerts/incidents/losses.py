"""Records lost by offsets in one incident, as several processes counted them. Pure.

A process sees a total: the losses of the last HOLD_S, of which the store keeps the findings. It adds up the
increases. Rules for what two processes counted, in order of start:

1. Apart in time: both count, with the increase between the last total of the former and the first of the
latter.
2. At the same time: both saw the same losses, so the larger number counts.
3. In part at the same time: at least the larger number, at most the sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from fleet.quantity import Bounds
from fleet.verdicts.words import HOLD_S

if TYPE_CHECKING:
    from collections.abc import Iterable

NOTHING_LOST = Bounds(0, 0)
APART_S = 10.0  # two processes that see the same bad time differ by less at its end


@dataclass(frozen=True, slots=True)
class Loss:
    """Bad time (epoch s) and records lost in it; `before` and `after` are totals, None if unknown.

    `is_first` is whether `before` is the first total of its process, and so may include earlier losses of
    this incident.
    """

    started_at: float
    bad_until_at: float
    lost: Bounds = NOTHING_LOST
    before: Bounds | None = None
    after: Bounds | None = None
    is_first: bool = False


def increase(former: Bounds, total: Bounds) -> Bounds:
    """Return by how much a total has increased; a decrease is 0, as old losses leave it."""
    least = max(0, total.least - former.least)
    if total.most is None:
        return Bounds(least, None)
    return Bounds(least, max(least, total.most - (former.least if former.most is None else former.most)))


def plus(one: Bounds, other: Bounds) -> Bounds:
    """Return the sum; without an upper bound if a part has none."""
    most = None if one.most is None or other.most is None else one.most + other.most
    return Bounds(one.least + other.least, most)


def minus(total: Bounds, part: Bounds) -> Bounds:
    """Return the rest of a total without one of its parts."""
    most = None if total.most is None or part.most is None else total.most - part.most
    return Bounds(total.least - part.least, most)


def lost_in(losses: Iterable[Loss], *, after_another: bool) -> Bounds:
    """Return the losses of an incident; `after_another`: earlier losses may be of another incident."""
    ordered = in_order(losses)
    if not ordered:
        return NOTHING_LOST
    first = ordered[0]
    found = NOTHING_LOST
    if first.is_first and first.before is not None:
        found = _up_to(first.before) if after_another else first.before
    return plus(found, reduce(joined, ordered).lost)


def in_order(losses: Iterable[Loss]) -> list[Loss]:
    """Return losses in order of their start, of equal ones the longest first."""
    return sorted(losses, key=lambda one: (one.started_at, -one.bad_until_at))


def joined(one: Loss, other: Loss) -> Loss:
    """Join two losses; `other` did not start before `one`."""
    inside_s, outside_s = one.bad_until_at - other.started_at, other.bad_until_at - one.bad_until_at
    least, most = max(one.lost.least, other.lost.least), one.lost.most
    if inside_s < 0:
        lost = plus(plus(one.lost, _between(one, other)), _new_in(other, one.after))
    elif outside_s <= min(APART_S, inside_s):
        lost = Bounds(least, None if most is None else max(least, most))
    else:
        lost = Bounds(least, plus(one.lost, other.lost).most)
    later = other if outside_s > 0 else one
    return replace(
        one,
        bad_until_at=later.bad_until_at,
        lost=lost,
        after=one.after if later.after is None else later.after,
    )


def _between(one: Loss, other: Loss) -> Bounds:
    """Return the losses between two bad times."""
    if other.before is None:
        return NOTHING_LOST
    if one.after is None:
        return _up_to(other.before) if other.is_first else NOTHING_LOST
    found = increase(one.after, other.before)
    if other.started_at - one.started_at <= HOLD_S:
        return found
    # New losses may have replaced those that have left the total.
    return Bounds(found.least, _up_to(other.before).most)


def _new_in(other: Loss, former: Bounds | None) -> Bounds:
    """Return its losses after the total of a former process, which a new one may list again only later."""
    if former is None or other.before is None or not other.is_first:
        return other.lost
    missing = max(0, former.least - other.before.least)
    return Bounds(max(0, other.lost.least - missing), other.lost.most)


def _up_to(total: Bounds) -> Bounds:
    return Bounds(0, total.most)
