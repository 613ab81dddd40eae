"""Poll a cluster's groups with the Admin API: which exist, their offsets, their members.

It runs on a thread and uses a separate process (`runtime.kafka.group_asker`), which is restarted if it ends;
pending calls are repeated then.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, assert_never

from fleet.errors import UnavailableError
from lagmon.ingest.admin_fallback import all_denied_sentence, hidden_sentence
from lagmon.ingest.admin_intake import AdminIntake
from lagmon.ingest.admin_plan import Plan
from lagmon.ingest.commits import Progress
from runtime.kafka.group_asker import GroupAsker
from runtime.kafka.group_offsets import (
    Failed,
    GroupsListed,
    GroupsOfAnyKind,
    MembersCounted,
    MembersTold,
    OffsetsTold,
    RightTold,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lagmon.cluster.state import ClusterLag
    from lagmon.ingest.admin_plan import Budget
    from runtime.kafka.group_offsets import Told
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

TICK_S = 0.1  # between two checks for due calls and answers
LIST_S = 10.0  # between two lists of groups; longer for many groups
LISTED_PER_S = 500
LIST_PATIENCE_S = 15.0
LOST_AFTER_S = 120.0  # an unanswered request for the list is repeated
OTHERS_S = 600.0  # between two counts of groups of other kinds
TOLD_S = 600.0
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0
WELL_AFTER_S = 60.0


class AdminRounds:
    """Polls groups until it is stopped; `lock` guards the state that answers are added to.

    `tell` is called with an error message while groups fail, at most every TOLD_S.
    """

    def __init__(
        self,
        settings: ClientSettings,
        lag: ClusterLag,
        lock: threading.Lock,
        *,
        cluster: str,
        clock: Clock,
        random: Callable[[], float],
        tell: Callable[[str], None],
        budget: Budget | None = None,
        asker: GroupAsker | None = None,
    ) -> None:
        self._plan = Plan(random=random, budget=budget)
        self._asker = asker or GroupAsker(settings, cluster=cluster, timeout_s=self._plan.budget.timeout_s)
        self._intake = AdminIntake(lag)
        self._cluster = cluster
        # Only their number is returned, not their names: one shard counts those of the whole cluster.
        self._counts_others = lag.share.has_first
        self._lock = lock
        self._clock = clock
        self._tell = tell
        self._ending = threading.Event()
        self._listed = False  # whether a complete list has arrived
        self._listed_groups = 0  # in the last list, unwanted ones too
        self._list_due_s = self._others_due_s = 0.0
        self._list_asked_s: float | None = None  # when the pending list was requested
        self._asked_ms: dict[str, int] = {}
        self._without_list = ""  # why the last list is incomplete
        self._silent_until_s = 0.0
        self._shown = True  # whether the last list had a group
        self._hidden = False  # whether it was empty because of a missing permission
        self._denied: set[str] = set()  # groups whose offsets were denied
        self.failing: dict[str, str] = {}  # errors by group
        self.others = 0  # number of groups of other kinds, which have no offsets
        self.progress = Progress(total_groups=0)

    @property
    def cycle_s(self) -> float:
        """Return how long it takes to poll every group once."""
        return self._plan.cycle_s

    def run(self) -> None:
        """Poll until `stop`."""
        self.begin()
        pause_s = FIRST_PAUSE_S
        try:
            while not self._ending.is_set():
                began_s = self._now_s()
                try:
                    self._asker.start()
                    while not self._ending.wait(TICK_S):
                        self.turn()
                except UnavailableError as error:
                    if self._now_s() - began_s > WELL_AFTER_S:
                        pause_s = FIRST_PAUSE_S
                    self.note_lost(str(error))
                    self._ending.wait(pause_s)
                    pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        finally:
            self._asker.end()
            with self._lock:
                self._intake.end()

    def begin(self) -> None:
        """Start without known groups; call it before the first turn."""
        self.progress = Progress(began_at=self._clock.wall_s(), total_groups=0)
        with self._lock:
            self._intake.begin()

    def note_lost(self, sentence: str) -> None:
        """Record that pending calls will not be answered, and why."""
        self._plan.note_lost(self._now_s())
        self._list_due_s, self._list_asked_s = 0.0, None
        self.progress.problem = sentence

    def stop(self) -> None:
        """Stop the thread."""
        self._ending.set()

    def turn(self) -> None:
        """Process answers and send due calls; raises UnavailableError if the process has ended."""
        for told in self._asker.take():
            self._heed(told)
        now_s = self._now_s()
        self._list(now_s)
        if now_s >= self._others_due_s and self._listed and self._counts_others:
            self._others_due_s = now_s + OTHERS_S
            self._asker.count_others()
        due = self._plan.due(now_s)
        if due:
            self._asked_ms.update(dict.fromkeys(due, self._now_ms()))
            self._asker.ask(due)
        described = self._plan.to_describe(now_s)
        if described:
            self._asker.describe(described)
        self._note_progress()

    def _list(self, now_s: float) -> None:
        """Request the list of groups if it is due and none is pending."""
        waits_s = 0.0 if self._list_asked_s is None else now_s - self._list_asked_s
        if waits_s > LIST_PATIENCE_S:
            self._without_list = f"cluster {self._cluster}: no list of groups within {LIST_PATIENCE_S:g} s"
        if now_s >= self._list_due_s and (self._list_asked_s is None or waits_s > LOST_AFTER_S):
            self._list_due_s = now_s + max(LIST_S, self._listed_groups / LISTED_PER_S)
            self._list_asked_s = now_s
            self._asker.list_groups()

    def _heed(self, told: Told) -> None:
        match told:
            case GroupsListed():
                self._heed_list(told)
            case OffsetsTold():
                if self._plan.note_answered(told.group, self._now_s()):
                    asked_ms = self._asked_ms[told.group]
                    with self._lock:
                        self._intake.take_offsets(
                            told.group, told.offsets, asked_ms=asked_ms, answered_ms=self._now_ms()
                        )
                    self.failing.pop(told.group, None)
                    self._denied.discard(told.group)
            case RightTold():
                self._hidden = not told.granted and not self._shown
            case MembersTold():
                if self._plan.note_described(told.group, self._now_s(), members=len(told.members)):
                    with self._lock:
                        self._intake.take_members(told.group, told.members)
            case GroupsOfAnyKind():
                self.others = told.others
            case MembersCounted():
                pass  # never requested here
            case Failed():
                self._heed_failure(told)
            case _:
                assert_never(told)

    def _heed_list(self, told: GroupsListed) -> None:
        states = {name: state for name, state in told.states.items() if self._intake.wanted(name)}
        simple = set(told.simple)
        self._list_asked_s, self._listed_groups = None, len(told.states)
        self._listed = self._listed or not told.problem
        if self._without_list and not told.problem:
            self._plan.note_back(self._now_s())
        self._without_list = told.problem
        self._shown = bool(told.states)
        if self._shown:
            self._hidden = False
        elif not told.problem:
            self._asker.ask_right()
        gone = self._plan.note_listed(states, self._now_s(), whole=not told.problem)
        with self._lock:
            for group, state in states.items():
                self._intake.take_state(group, state, had_members=group not in simple)
            for group in gone:
                self._intake.forget(group)
            self._intake.allow_for(self._plan.cycle_s)
        for group in gone:
            self._asked_ms.pop(group, None)
            self.failing.pop(group, None)
            self._denied.discard(group)

    def _heed_failure(self, told: Failed) -> None:
        match told.about:
            case "offsets":
                if self._plan.note_failed(told.group, self._now_s()):
                    self.failing[told.group] = told.sentence
                    (self._denied.add if told.refused else self._denied.discard)(told.group)
            case "members":
                self._plan.note_not_described(told.group, self._now_s())
            case "list" | "client":
                self._list_asked_s = None
                self._without_list = told.sentence

    def _note_progress(self) -> None:
        progress = self.progress
        progress.total_groups = self._plan.groups
        progress.refused = self._refused()
        progress.problem = progress.refused or self._problem()
        if progress.ready_after_s is None:
            progress.asked_groups = self._plan.settled
            if self._listed and progress.asked_groups == progress.total_groups:
                progress.ready_after_s = self._clock.wall_s() - progress.began_at
        else:
            progress.asked_groups = progress.total_groups
        if progress.problem and self._now_s() >= self._silent_until_s:
            self._silent_until_s = self._now_s() + TOLD_S
            self._tell(progress.problem)

    def _refused(self) -> str:
        """Return which permission is missing, if no group can be polled without it."""
        if self._without_list:
            return ""  # it is not known which groups exist
        if self._hidden:
            return hidden_sentence(self._cluster)
        if self._denied and len(self._denied) == self._plan.groups:
            return all_denied_sentence(next(iter(self.failing.values())))
        return ""

    def _problem(self) -> str:
        if self._without_list:
            return self._without_list
        if self.failing:
            count, why = len(self.failing), next(iter(self.failing.values()))
            groups = "1 group" if self._plan.groups == 1 else f"{self._plan.groups:,} groups"
            return f"the Admin API returned no offsets of {count:,} of {groups} (first error: {why})"
        return ""

    def _now_s(self) -> float:
        return self._clock.monotonic_ns() / 1e9

    def _now_ms(self) -> int:
        return int(self._clock.wall_s() * 1000)
