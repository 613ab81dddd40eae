"""The state of one cluster's groups: commits, positions, members, and verdicts from them.

Pure: the loops that read pass what they have read, with the instant by our wall clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from lagmon.arrays.place_rows import parts
from lagmon.cluster.absence import Absence
from lagmon.cluster.commits import CommitsKnown
from lagmon.cluster.group_share import GroupShare
from lagmon.cluster.marks import TopicMarks
from lagmon.cluster.membership import Membership
from lagmon.cluster.names import Places, Slots
from lagmon.cluster.positions import leave_former_logs, note_held
from lagmon.cluster.slot_verdicts import Known, SlotVerdicts
from lagmon.cluster.tails import Tails
from lagmon.groups.carried import Carriers
from lagmon.groups.earlier_lags import measure_earlier
from lagmon.groups.growth import GroupGrowth, GroupPart
from lagmon.groups.rings import Rings
from lagmon.groups.rules.groups import Grouping, judge_groups
from lagmon.groups.rules.policy import Policy
from lagmon.groups.rules.window import Windows
from lagmon.groups.silences import Silences, counts_of
from lagmon.groups.view import GroupView
from lagmon.ingest.intake import Intake, none_hidden
from lagmon.logs.hanging import hangs_since_ms
from lagmon.logs.heads import Heads
from lagmon.logs.time_lag import LagKind
from lagmon.logs.transaction_limit import LONGEST_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from fleet.verdicts.flow import Flow
    from lagmon.groups.carried import Carried
    from lagmon.logs.readable import Stretch

MEASURED_MS = 45_000  # older commits were measured at earlier polls


@dataclass(frozen=True, slots=True)
class Away:
    """A cluster that does not answer or denies access: since when (epoch ms), and the client's error."""

    since_ms: int
    why: str
    refused: bool = False


class ClusterLag:
    """The groups of one cluster; `wanted` returns whether to keep a group's offset on a topic.

    Offsets that are `hidden` are kept for mirrors only. Both are called with the topic None for any topic.
    `flows` are those to this cluster. `share` decides which groups belong to this process; without it all do.
    """

    def __init__(
        self,
        *,
        wanted: Callable[[str, str | None], bool],
        hidden: Callable[[str, str | None], bool] = none_hidden,
        policy: Policy | None = None,
        flows: Iterable[Flow] = (),
        longest_transaction_ms: int = LONGEST_MS,
        share: GroupShare | None = None,
    ) -> None:
        self.policy = policy or Policy()
        self.share = share or GroupShare()
        self.flows = tuple(flows)
        self._carriers = Carriers(self.flows)
        self.heads = Heads()
        self.places = Places(self.heads.claim, self.heads.release)
        self.slots = Slots()
        self.rings = Rings(near=True)
        self.membership = Membership(self.share.has)
        self.intake = Intake(
            places=self.places,
            slots=self.slots,
            rings=self.rings,
            membership=self.membership,
            wanted=wanted,
            ends=self._ends,
            hidden=hidden,
            belongs=self.share.has,
        )
        self.trail = self.intake.trail
        self.tails = Tails()
        self.readable = self.tails.readable
        self.readable_uncommitted = self.tails.readable_uncommitted
        self.mirror_readers, self.idle_mirrors = self.tails.mirror_readers, self.tails.idle_mirrors
        self.topics: dict[str, int] = {}  # all topics of the cluster, with their numbers of partitions
        self.ends_read_ms = -1  # when the newest ends had been read
        self.listed_ms = -1  # when topics were last listed, -1 if not known
        self.listed = False  # whether topics were ever listed
        self.failing: Away | None = None  # while the last poll failed
        # by flow: topics whose log starts are read at each poll
        self.mirrored: dict[str, Collection[str]] = {}
        self.list_awaited: set[str] = set()  # flows to this cluster that wait for a newer list of topics
        self.absence = Absence()
        self._marked = TopicMarks()
        # Public names of parts of these.
        self.ids, self.former_ids = self._marked.ids, self._marked.former_ids
        self.marks, self.take_up_marks = self._marked.of, self._marked.take_up
        self.hangs_since_ms = partial(
            hangs_since_ms, self.heads, self._marked, longest_ms=longest_transaction_ms
        )
        self.positions_lost = False  # whether removed topics with commits are back
        self._growth = GroupGrowth()
        self._commits = CommitsKnown()
        self.asked_ms, self.group_states = self._commits.asked_ms, self._commits.group_states
        self.note_read, self.end_asking = self._commits.note_read, self._commits.end_asking
        self.silences = Silences(
            self.intake,
            self.heads,
            readable=self.readable,
            marks=self._marked,
            commits=self._commits,
            absence=self.absence,
        )

    # --- topics and positions

    def note_topics(
        self, partitions: Mapping[str, int], read_ms: int = -1, *, lacking: Collection[str] = ()
    ) -> list[str]:
        """Record all topics with their partitions; return the removed ones.

        `read_ms` is when they were requested, -1 if it does not matter. Topics in `lacking` stay as they are.
        """
        gone = [name for name in self.places.topics if name not in partitions and name not in lacking]
        self._forget(gone)
        kept = {name: count for name, count in self.topics.items() if name in lacking}
        self.topics, self.listed, self.listed_ms = {**partitions, **kept}, True, read_ms
        self.places.note_listed(self.topics)
        for name, count in self.topics.items():
            if count:
                self.places.take(name, count - 1)
        self._carriers.note_topics(self.topics, self.places)
        return gone

    def lacking(self, partitions: Mapping[str, int]) -> set[str]:
        """Return the known topics that this list lacks: listed earlier, or with commits."""
        return {*self.topics, *self.places.topics} - partitions.keys()

    def note_polled(
        self,
        places: NDArray[np.int32],
        ends: NDArray[np.int64],
        stables: NDArray[np.int64],
        at_ms: int,
        *,
        read_ms: int = -1,
    ) -> None:
        """Add the high watermarks and last stable offsets of a poll, -1 for no answer.

        `at_ms` is when it began, `read_ms` when all had been read, -1 if not known.
        """
        self.ends_read_ms = read_ms
        self.heads.starts.let_go(at_ms - self.policy.stale_after_ms)  # no verdict is as of an earlier instant
        answered = places[ends >= 0]
        if len(answered):
            self.absence.note_answer(at_ms)
            self._note_known_before(answered)
        self._marked.note_stables(places[ends >= 0], stables[ends >= 0], self.heads)
        self.heads.note(places, ends, at_ms)
        self.heads.note_stable(places, stables)
        self.tails.note_ends(places, ends)
        held = (stables >= 0) & (stables < ends)
        if held.any():
            self._note_held(places[held], stables[held], at_ms)
        self._measure_lags(at_ms)
        measure_earlier(self.intake, self.heads, at_ms)
        self._note_growth(at_ms)
        self.silences.note_poll(self.topics, at_ms=at_ms, read_ms=read_ms)

    def _note_known_before(self, places: NDArray[np.int32]) -> None:
        """Record the offsets of groups before the ends of these places were read."""
        count = len(self.slots)
        answered = np.zeros(len(self.heads.end) + 1, np.bool_)  # with one for slots without a place
        answered[places] = True
        self.rings.note_poll(np.flatnonzero(answered[self.slots.place[:count]]))

    def _note_held(self, places: NDArray[np.int32], stables: NDArray[np.int64], at_ms: int) -> None:
        """Record that transactions block consumers at these places, from these offsets on."""
        self._marked.note_held(places, stables, at_ms)
        note_held(self.intake, self.heads, self.readable, places=places, stables=stables, at_ms=at_ms)

    def _measure_lags(self, now_ms: int) -> None:
        """Correct lags of recent commits by the log ends at their time."""
        trail = self.trail
        for part in parts(len(self.slots)):
            places = self.slots.place[part]
            before_newest_ms = self.rings.committed_ms[part, -1] - trail.committed_ms[part, -1]
            at_ms = self.intake.seen_ms[part] - before_newest_ms
            late = (places >= 0) & (trail.lag[part, -1] >= 0) & (at_ms > now_ms - MEASURED_MS)
            rows = np.flatnonzero(late)
            trail.measure(part.start + rows, self.heads.end_at(places[rows], at_ms[rows]))

    def _note_growth(self, now_ms: int) -> None:
        """Add the lag of each group whose commits are all known to its sums."""
        numbers, begun = self.slots.group_numbers, self.slots.begun
        self._growth.note(self._growth_parts(now_ms), count=numbers, begun=begun, now_ms=now_ms)

    def _growth_parts(self, now_ms: int) -> Iterator[GroupPart]:
        slots, heads = self.slots, self.heads
        seen = self._marked.head_at_ms(heads) >= now_ms
        known = self._commits.by_group(slots) >= 0
        for part in parts(len(slots)):
            at = np.maximum(slots.place[part], 0)
            yield GroupPart(
                part.start,
                group=slots.group[part],
                generations=slots.generations[part],
                seen=seen[at],
                end=heads.head(at),
                offset=np.where(known[slots.group[part]], self.intake.known_offsets(part), -1),
            )

    def note_answer(self, now_ms: int, failure: str = "", *, refused: bool = False) -> None:
        """Record that a poll has ended, and why if it failed."""
        if refused:  # a cluster that denies access answers
            self.absence.note_answer(now_ms)
        self.absence.end_poll()
        before = self.failing
        since_ms = before.since_ms if before is not None and before.refused == refused else now_ms
        self.failing = Away(since_ms, failure, refused) if failure else None

    @property
    def away(self) -> Away | None:
        """Return since when the cluster has not answered and why; None if it answers or denies access."""
        return None if self.failing is None or self.failing.refused else self.failing

    def note_id(self, topic: str, topic_id: str, now_ms: int) -> bool:
        """Record a topic's id; return whether the topic was re-created."""
        places = self.places.of(topic)
        remade = self._marked.note_id(topic, topic_id, places, now_ms)
        self.positions_lost |= self._marked.is_back(topic, topic_id)
        if remade:
            self.heads.forget(np.array(places, np.int32))
            self.tails.forget(np.array(places, np.int32))
            self.silences.forget_records(places)
        return remade

    def _forget(self, topics: Sequence[str]) -> None:
        """Forget removed topics and commits on them."""
        if not topics:
            return
        read = self._read_topics()
        places = self.places.drop(topics)
        self.intake.drop_places(places)
        self.silences.drop_places(places)
        self.tails.forget(np.array(places, np.int32))
        self._marked.forget(topics, places, read=read)

    def watched_topics(self) -> list[str]:
        """Return topics with a group's offset or a silent group, or with an id to compare."""
        return sorted(self._read_topics() | self.places.topics_of(self.silences.owned.place))

    def _read_topics(self) -> set[str]:
        read = self.places.topics_of(self.slots.place[: len(self.slots)])
        return read | self.former_ids.keys() | self._marked.gone_ids.keys()

    # --- how far the commits are read

    def begin_commits(self, partitions: int) -> None:
        """Start without known commits in any of `partitions` partitions of `__consumer_offsets`.

        Earlier commits are forgotten: they are read again, and out of order they would mislead.
        """
        self.intake.forget_all()
        self.membership.forget_all()
        self.silences.forget_all()
        self._commits.begin(partitions, self.share.read(partitions))
        self._growth = GroupGrowth()  # numbers of groups are reused
        self.positions_lost = False

    def begin_asking(self) -> None:
        """Start without known groups: from here on their offsets come from the Admin API."""
        self.begin_commits(1)
        self._commits.asking = True

    @property
    def asking(self) -> bool:
        """Return whether offsets come from the Admin API."""
        return self._commits.asking

    @property
    def read_to_ms(self) -> int:
        """Return up to when the commits of all partitions that are read, or of all groups, are known.

        It is -1 if those of one are not.
        """
        return self._commits.to_ms

    # --- verdicts

    def leaves_out(self, group: str) -> bool:
        """Return whether the configuration leaves a group of this process's share out."""
        intake = self.intake
        return self.share.has(group) and (intake.hidden(group, None) or not intake.wanted(group, None))

    def silent_groups(self) -> AbstractSet[str]:
        """Return the consumer groups that have members and never committed."""
        self.silences.follow(self.topics)
        return self.silences.groups

    def see(self, now_ms: int) -> GroupView:
        """Return verdicts on every group by our rules."""
        slots = self.slots
        count = len(slots)
        leave_former_logs(self.intake, self.heads, self._marked)
        carried = self._carriers.of(slots, count, self.places, self.membership, asking=self.asking)
        judged = SlotVerdicts(self._known(), carried, now_ms=now_ms)
        silent = self.silences.see(self.topics, now_ms=now_ms, policy=self.policy)
        grouping = Grouping(slots.group[:count], slots.group_numbers)
        falls, counts = self._falls(carried), counts_of(silent, grouping.count)
        rows = judged.rows
        bounds = judged.lag_kind == LagKind.AT_LEAST
        groups = judge_groups(
            rows.status, rows.lag, judged.lag_s, grouping, bounds=bounds, falls=falls, silent=counts
        )
        return GroupView(
            now_ms,
            rows,
            judged.lag_s,
            judged.lag_kind,
            groups,
            end=judged.end,
            start=judged.start,
            readable_from=judged.readable_from,
            begun=slots.begun,
            generations=slots.generations[:count].copy(),
            carried=carried,
            falling={
                number: self._growth.falling(number) for number in np.flatnonzero(groups.falls).tolist()
            },
            silent=silent,
        )

    def _known(self) -> Known:
        return Known(
            intake=self.intake,
            heads=self.heads,
            readable=self.readable,
            marks=self._marked,
            absence=self.absence,
            commits=self._commits,
            topics=self.topics,
            policy=self.policy,
            windows=self._windows,
            hangs_since_ms=self.hangs_since_ms,
        )

    def tails_due(
        self, now_ms: int, *, committed: bool = True, without: Collection[int] = ()
    ) -> list[Stretch]:
        """Return the log tails to check, to learn whether consumers there have records left.

        `committed`: for consumers of committed records, such as all groups. `without` are places that cannot
        be read.
        """
        more = self.silences.readers(now_ms)
        return self.tails.due(
            self.intake, self.heads, more, now_ms=now_ms, committed=committed, without=without
        )

    def refused_places(self) -> NDArray[np.int64]:
        """Return the places of topics that Mirrorwatch may not read."""
        places = (place for topic in self.tails.refused for place in self.places.of(topic))
        return np.fromiter(places, np.int64)

    def records_due(self, now_ms: int, *, without: Collection[int] = ()) -> list[tuple[int, int]]:
        """Return place and offset of records whose timestamps to read.

        `without` are places that cannot be read. Groups are included only once all are known: before that
        their offsets are outdated.
        """
        intake = self.intake if self.read_to_ms >= 0 else None
        return self.tails.records_due(intake, self.heads, now_ms=now_ms, without=without)

    def _windows(self, part: slice) -> Windows:
        offset, committed_ms, lag, filled = self.trail.close(self.rings, part)
        return Windows(
            offset=offset,
            committed_ms=committed_ms,
            lag=lag,
            filled=filled,
            live=filled,  # it holds no others
            went_back=self.rings.went_back(part),
        )

    def _falls(self, carried: Carried) -> NDArray[np.bool_]:
        """Return by number which groups fall behind; carried groups do not."""
        falls = np.zeros(self.slots.group_numbers, np.bool_)
        falls[self._growth.fallen(self.slots.begun_as)] = True
        falls[list(carried)] = False
        return falls

    def _ends(self, places: NDArray[np.int32]) -> NDArray[np.int64]:
        return self.heads.end[places]
