"""When to ask which group of a cluster, where offsets come from the Admin API: a plan within a budget. Pure.

One call tells the offsets of one group. Each group is asked once in a cycle, which grows with the number of
groups, so that never more than `asked_per_s` calls go out in a second, evenly spread and with jitter. A call
that has no answer holds up no other: as many may be in flight as can go out before the first of them times
out. A group that could not be asked is asked again after a pause that doubles, and so is one of whose members
nothing was told.

Answers count once, and only while they are waited for: brokers answer late, in another order, or never.

Instants are seconds on any clock that only grows; `random` gives numbers from 0 up to 1.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_USED = 0.92  # of the budget in the long run: what jitter and pauses need is left
_JITTER = 0.05
NOBODY = ("empty", "dead")  # states of groups that have no members


@dataclass(frozen=True, slots=True)
class Budget:
    """Calls and seconds. `asked_per_s` and `described_per_s` bound the calls of either kind."""

    asked_per_s: float = 100.0
    described_per_s: float = 50.0
    shortest_cycle_s: float = 10.0
    described_every_s: float = 300.0  # where its state stays as it was
    first_pause_s: float = 10.0
    longest_pause_s: float = 300.0
    timeout_s: float = 10.0
    lost_after_s: float = 60.0  # what has no answer then, nor word of a timeout, has none any more

    @property
    def in_flight(self) -> int:
        """Return how many calls may wait for an answer."""
        return int(self.asked_per_s * self.timeout_s)

    def pause_s(self, failures: int) -> float:
        """Return how long to wait after so many questions in a row that failed."""
        return min(self.first_pause_s * 2.0 ** min(failures - 1, 16), self.longest_pause_s)

    def cycle_s(self, groups: int) -> float:
        """Return how long it takes to ask so many groups once."""
        return max(self.shortest_cycle_s, groups / (self.asked_per_s * _USED))


@dataclass(slots=True)
class _Group:
    due_s: float
    asked_s: float = 0.0
    state: str = ""
    failures: int = 0
    in_flight: bool = False
    settled: bool = False  # asked, with an answer or without one
    describe_due_s: float = 0.0
    described_s: float | None = None  # when its members were asked for, while that is not answered
    describe_failures: int = 0
    lacked: bool = False  # by the last whole list


class Plan:
    """Which groups there are, and when each is to be asked."""

    def __init__(self, *, random: Callable[[], float], budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self._random = random
        self._groups: dict[str, _Group] = {}
        self._heap: list[tuple[float, str]] = []  # some are outdated: a group is due when its own entry is
        self._describe: dict[str, None] = {}  # in the order in which they came to need it
        self._ask_credit = _Credit(self.budget.asked_per_s)
        self._describe_credit = _Credit(self.budget.described_per_s)
        self._in_flight = 0
        self._asked: deque[tuple[float, str]] = deque()  # when, and whom; of the last minute

    @property
    def cycle_s(self) -> float:
        """Return how long one cycle is at present."""
        return self.budget.cycle_s(len(self._groups))

    @property
    def groups(self) -> int:
        """Return how many groups are asked."""
        return len(self._groups)

    @property
    def settled(self) -> int:
        """Return how many of them were asked once, with an answer or without one."""
        return sum(one.settled for one in self._groups.values())

    def __contains__(self, name: str) -> bool:
        """Return whether a group is there."""
        return name in self._groups

    def note_listed(self, states: dict[str, str], now_s: float, *, whole: bool) -> list[str]:
        """Take the groups that exist, with their states; return those that are there no more.

        A list lacks a group while its coordinator moves from one broker to another: only what two lists in a
        row lack is gone, and nothing by a list that is not `whole`.
        """
        for name, state in states.items():
            group = self._groups.get(name)
            if group is None:
                group = self._groups[name] = _Group(due_s=now_s)
                heapq.heappush(self._heap, (now_s, name))
            group.lacked = False
            if group.state != state:
                group.state = state
                if state not in NOBODY:
                    self._describe[name] = None
        lacking = [name for name in self._groups if name not in states] if whole else []
        gone = [name for name in lacking if self._groups[name].lacked]
        for name in lacking:
            self._groups[name].lacked = True
        for name in gone:
            self._forget(name)
        return gone

    def due(self, now_s: float) -> list[str]:
        """Return the groups to ask for their offsets now, the longest due first; they count as in flight."""
        self._give_up(now_s)
        found: list[str] = []
        credit = self._ask_credit.at(now_s)
        while self._heap and self._heap[0][0] <= now_s and len(found) < credit:
            if self._in_flight >= self.budget.in_flight:
                break
            at_s, name = heapq.heappop(self._heap)
            group = self._groups.get(name)
            if group is None or group.in_flight or group.due_s != at_s:
                continue
            group.in_flight, group.asked_s = True, now_s
            self._in_flight += 1
            self._asked.append((now_s, name))
            found.append(name)
        self._ask_credit.spend(len(found))
        return found

    def to_describe(self, now_s: float) -> list[str]:
        """Return the groups to ask for their members now: those whose state changed go first.

        Of a group that is being asked already the answer is waited for.
        """
        free = (name for name in self._describe if not self._is_described(name, now_s))
        found = list(islice(free, int(self._describe_credit.at(now_s))))
        for name in found:
            del self._describe[name]
            group, wait_s = self._groups[name], self.budget.described_every_s
            group.described_s = now_s
            group.describe_due_s = now_s + wait_s * (1 + _JITTER * self._random())
        self._describe_credit.spend(len(found))
        return found

    def note_answered(self, name: str, now_s: float) -> bool:
        """Record that a group was answered; return whether that was waited for."""
        group = self._returned(name)
        if group is None:
            return False
        group.failures = 0
        # From when it was asked: from when it was due, all that begin together would come in a crowd.
        self._next(name, group, group.asked_s, self.cycle_s, now_s)
        if group.state not in NOBODY and 0 < group.describe_due_s <= now_s:
            self._describe[name] = None
        return True

    def note_failed(self, name: str, now_s: float) -> bool:
        """Record that a group had no answer, or was refused one; return whether that was waited for."""
        group = self._returned(name)
        if group is None:
            return False
        group.failures += 1
        self._next(name, group, now_s, max(self.cycle_s, self.budget.pause_s(group.failures)), now_s)
        return True

    def note_described(self, name: str, now_s: float, *, members: int) -> bool:
        """Record that a group told how many members it has; return whether that is to be believed.

        Not where its state says otherwise: the answer is older than that, or was given in between two states.
        """
        group = self._groups.get(name)
        if group is None or group.described_s is None:
            return False
        if members == 0 and group.state not in NOBODY:
            self.note_not_described(name, now_s)
            return False
        group.described_s, group.describe_failures = None, 0
        return members == 0 or group.state not in NOBODY

    def note_not_described(self, name: str, now_s: float) -> None:
        """Record that a group did not tell its members: that is asked again after a pause."""
        group = self._groups.get(name)
        if group is not None and group.described_s is not None:
            group.described_s = None
            group.describe_failures += 1
            group.describe_due_s = now_s + self.budget.pause_s(group.describe_failures)

    def note_back(self, now_s: float) -> None:
        """Record that brokers which were away answer again: what failed is due without more of a pause."""
        for name, group in self._groups.items():
            if group.failures and not group.in_flight:
                group.failures, group.due_s = 0, now_s
                heapq.heappush(self._heap, (now_s, name))

    def note_lost(self, now_s: float) -> None:
        """Record that nothing that is in flight will be answered: all of it is due again."""
        for name, group in self._groups.items():
            if group.in_flight:
                group.in_flight = False
                group.due_s = now_s
                heapq.heappush(self._heap, (now_s, name))
            if group.described_s is not None:
                group.described_s = None
                self._describe[name] = None
        self._in_flight = 0
        self._asked.clear()

    def _give_up(self, now_s: float) -> None:
        """Wait no longer for answers that would have come by now."""
        while self._asked and now_s - self._asked[0][0] > self.budget.lost_after_s:
            asked_s, name = self._asked.popleft()
            group = self._groups.get(name)
            if group is not None and group.in_flight and group.asked_s == asked_s:
                self.note_failed(name, now_s)

    def _is_described(self, name: str, now_s: float) -> bool:
        asked_s = self._groups[name].described_s
        return asked_s is not None and now_s - asked_s <= self.budget.lost_after_s

    def _returned(self, name: str) -> _Group | None:
        group = self._groups.get(name)
        if group is None or not group.in_flight:
            return None
        group.in_flight, group.settled = False, True
        self._in_flight -= 1
        return group

    def _next(self, name: str, group: _Group, from_s: float, wait_s: float, now_s: float) -> None:
        wait_s *= 1 + _JITTER * (2 * self._random() - 1)
        # One that is late is not asked twice in a row to catch up.
        group.due_s = max(from_s + wait_s, now_s + wait_s / 2)
        heapq.heappush(self._heap, (group.due_s, name))

    def _forget(self, name: str) -> None:
        group = self._groups.pop(name)
        self._describe.pop(name, None)
        if group.in_flight:
            self._in_flight -= 1


class _Credit:
    """How many calls may go out: so many a second, and no more than a quarter of a second's at once."""

    def __init__(self, per_s: float) -> None:
        self._per_s = per_s
        self._most = max(1.0, per_s / 4)
        self._left = 0.0
        self._at_s: float | None = None

    def at(self, now_s: float) -> float:
        """Return how many may go out at an instant; rounded down to whole ones by whoever spends them."""
        if self._at_s is not None:
            self._left = min(self._most, self._left + self._per_s * max(0.0, now_s - self._at_s))
        self._at_s = now_s
        return float(int(self._left))

    def spend(self, calls: int) -> None:
        """Record that so many went out."""
        self._left -= calls
