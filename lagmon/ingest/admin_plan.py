"""When to poll which group of a cluster with the Admin API: a plan within a budget. Pure.

One call returns the offsets of one group. Each group is polled once in a cycle, which grows with the number
of groups: at most `asked_per_s` calls per second, evenly spread and with jitter. An unanswered call delays no
other: as many calls may be in flight as are sent until the first of them times out. A failed group is polled
again after a pause that doubles; so is one that did not return its members.

Brokers answer late, in another order, or never: an answer counts once, and only while it is expected.

Instants are seconds of a monotonic clock; `random` returns numbers from 0 up to 1.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_USED = 0.92  # of the budget on average; the rest is for jitter and pauses
_JITTER = 0.05
WITHOUT_MEMBERS = ("empty", "dead")  # states of groups that have no members


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits in calls and seconds. `asked_per_s` and `described_per_s` limit the two kinds of calls."""

    asked_per_s: float = 100.0
    described_per_s: float = 50.0
    shortest_cycle_s: float = 10.0
    described_every_s: float = 300.0  # if its state does not change
    first_pause_s: float = 10.0
    longest_pause_s: float = 300.0
    timeout_s: float = 10.0
    lost_after_s: float = 60.0  # calls without an answer or timeout after this time count as failed

    @property
    def in_flight(self) -> int:
        """Return how many calls may wait for an answer."""
        return int(self.asked_per_s * self.timeout_s)

    def pause_s(self, failures: int) -> float:
        """Return how long to wait after this many failures in a row."""
        return min(self.first_pause_s * 2.0 ** min(failures - 1, 16), self.longest_pause_s)

    def cycle_s(self, groups: int) -> float:
        """Return how long it takes to poll this many groups once."""
        return max(self.shortest_cycle_s, groups / (self.asked_per_s * _USED))


@dataclass(slots=True)
class _Group:
    due_s: float
    asked_s: float = 0.0
    state: str = ""
    failures: int = 0
    in_flight: bool = False
    settled: bool = False  # polled once, with or without an answer
    describe_due_s: float = 0.0
    described_s: float | None = None  # when its members were requested, while there is no answer
    describe_failures: int = 0
    lacked: bool = False  # missing in the last complete list


class Plan:
    """The known groups, and when to poll each."""

    def __init__(self, *, random: Callable[[], float], budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self._random = random
        self._groups: dict[str, _Group] = {}
        # may have outdated entries; a group is due by its own entry only
        self._heap: list[tuple[float, str]] = []
        self._describe: dict[str, None] = {}  # in the order in which they became due
        self._ask_credit = _Credit(self.budget.asked_per_s)
        self._describe_credit = _Credit(self.budget.described_per_s)
        self._in_flight = 0
        self._asked: deque[tuple[float, str]] = deque()  # time and group of the calls of the last minute

    @property
    def cycle_s(self) -> float:
        """Return the current length of a cycle."""
        return self.budget.cycle_s(len(self._groups))

    @property
    def groups(self) -> int:
        """Return the number of polled groups."""
        return len(self._groups)

    @property
    def settled(self) -> int:
        """Return how many of them were polled once, with or without an answer."""
        return sum(one.settled for one in self._groups.values())

    def __contains__(self, name: str) -> bool:
        """Return whether a group is known."""
        return name in self._groups

    def note_listed(self, states: dict[str, str], now_s: float, *, whole: bool) -> list[str]:
        """Set the existing groups with their states; return the removed ones.

        A list lacks a group while its coordinator moves to another broker. So a group is removed only if two
        complete lists in a row (`whole`) lack it.
        """
        for name, state in states.items():
            group = self._groups.get(name)
            if group is None:
                group = self._groups[name] = _Group(due_s=now_s)
                heapq.heappush(self._heap, (now_s, name))
            group.lacked = False
            if group.state != state:
                group.state = state
                if state not in WITHOUT_MEMBERS:
                    self._describe[name] = None
        lacking = [name for name in self._groups if name not in states] if whole else []
        gone = [name for name in lacking if self._groups[name].lacked]
        for name in lacking:
            self._groups[name].lacked = True
        for name in gone:
            self._forget(name)
        return gone

    def due(self, now_s: float) -> list[str]:
        """Return the groups to poll now, the longest due first, and count them as in flight."""
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
        """Return the groups whose members to request now; those with a changed state go first.

        A group with a request in flight is left out.
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
        """Record an answer about a group; return whether it was expected."""
        group = self._returned(name)
        if group is None:
            return False
        group.failures = 0
        # Counted from the poll, not from when it was due: else groups that start together stay together.
        self._next(name, group, group.asked_s, self.cycle_s, now_s)
        if group.state not in WITHOUT_MEMBERS and 0 < group.describe_due_s <= now_s:
            self._describe[name] = None
        return True

    def note_failed(self, name: str, now_s: float) -> bool:
        """Record that a group was not answered or denied; return whether an answer was expected."""
        group = self._returned(name)
        if group is None:
            return False
        group.failures += 1
        self._next(name, group, now_s, max(self.cycle_s, self.budget.pause_s(group.failures)), now_s)
        return True

    def note_described(self, name: str, now_s: float, *, members: int) -> bool:
        """Record the number of members of a group; return whether it is consistent with its state.

        If it is not, the answer is outdated or was given between two states.
        """
        group = self._groups.get(name)
        if group is None or group.described_s is None:
            return False
        if members == 0 and group.state not in WITHOUT_MEMBERS:
            self.note_not_described(name, now_s)
            return False
        group.described_s, group.describe_failures = None, 0
        return members == 0 or group.state not in WITHOUT_MEMBERS

    def note_not_described(self, name: str, now_s: float) -> None:
        """Record a failed request for members; it is repeated after a pause."""
        group = self._groups.get(name)
        if group is not None and group.described_s is not None:
            group.described_s = None
            group.describe_failures += 1
            group.describe_due_s = now_s + self.budget.pause_s(group.describe_failures)

    def note_back(self, now_s: float) -> None:
        """Record that unreachable brokers answer again: failed groups are due at once."""
        for name, group in self._groups.items():
            if group.failures and not group.in_flight:
                group.failures, group.due_s = 0, now_s
                heapq.heappush(self._heap, (now_s, name))

    def note_lost(self, now_s: float) -> None:
        """Record that calls in flight will not be answered: all of them are due again."""
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
        """Fail calls whose answer is overdue."""
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
        # A late group is not polled twice in a row to catch up.
        group.due_s = max(from_s + wait_s, now_s + wait_s / 2)
        heapq.heappush(self._heap, (group.due_s, name))

    def _forget(self, name: str) -> None:
        group = self._groups.pop(name)
        self._describe.pop(name, None)
        if group.in_flight:
            self._in_flight -= 1


class _Credit:
    """Rate limit of calls, with bursts of a quarter of a second."""

    def __init__(self, per_s: float) -> None:
        self._per_s = per_s
        self._most = max(1.0, per_s / 4)
        self._left = 0.0
        self._at_s: float | None = None

    def at(self, now_s: float) -> float:
        """Return how many calls are allowed at an instant, rounded down."""
        if self._at_s is not None:
            self._left = min(self._most, self._left + self._per_s * max(0.0, now_s - self._at_s))
        self._at_s = now_s
        return float(int(self._left))

    def spend(self, calls: int) -> None:
        """Record that calls were sent."""
        self._left -= calls
