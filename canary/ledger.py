"""The one place where a flow's books are written: outcomes, marks, settlement, and what is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.books import Books, Mark, Outcome
from canary.events import Concluded, Marked, SeenAtTarget, Stage, Timed, TrackerOutput
from canary.ranges import Absent

if TYPE_CHECKING:
    from canary.partition import PartitionState, Probe
    from canary.stamp import Identity


def absent(probe: Probe, outcome: Outcome) -> Absent:
    """Return the range of this one probe."""
    return Absent(
        first=probe.sequence,
        last=probe.sequence,
        outcome=outcome,
        first_offset=probe.offset,
        last_offset=probe.offset,
        first_ns=probe.scheduled_ns,
        last_ns=probe.scheduled_ns,
    )


class Ledger:
    """Counts each thing once and keeps what is to be told until it is fetched."""

    __slots__ = ("_out", "books")

    def __init__(self) -> None:
        self.books = Books()
        self._out: list[TrackerOutput] = []

    def flush(self) -> list[TrackerOutput]:
        """Return what there is to tell since the last call."""
        out, self._out = self._out, []
        return out

    def tell(self, output: TrackerOutput) -> None:
        """Keep something to tell that no counter stands for."""
        self._out.append(output)

    def conclude(
        self,
        state: PartitionState,
        probe: Probe,
        outcome: Outcome,
        at_ns: int,
        sentence: str,
        *,
        target_offset: int | None = None,
        arrived: bool = False,
    ) -> None:
        """Give a probe its outcome and take it out of flight; one that did not arrive becomes absent."""
        del state.in_flight[probe.sequence]
        self.books.in_flight -= 1
        self.books.count(outcome)
        if not arrived:
            ranges = state.overdue if outcome is Outcome.OVERDUE else state.absent
            ranges.add(absent(probe, outcome))
        if outcome is Outcome.OVERDUE:
            self.books.outstanding += 1
        self._out.append(
            Concluded(
                outcome,
                state.topic_id,
                state.partition,
                probe.sequence,
                at_ns,
                probe.offset,
                target_offset,
                sentence,
                probe.copy_seen,
            )
        )

    def conclude_gone(self, topic_id: str, partition: int, sequence: int, at_ns: int) -> None:
        """Count a probe that fell due for a topic which is not there any more."""
        self.books.expected += 1
        self.books.count(Outcome.UNKNOWN)
        sentence = "its topic was re-created before it was sent"
        self._out.append(
            Concluded(Outcome.UNKNOWN, topic_id, partition, sequence, at_ns, None, None, sentence)
        )

    def warm_up(self, probe: Probe) -> None:
        """Count a probe as warm-up when it is sent; it stays in sight, but is in flight no more."""
        probe.warm = True
        self.books.in_flight -= 1
        self.books.count(Outcome.WARMUP)

    def settle(self, probe: Probe) -> None:
        """Move `settled` once for this probe."""
        if not probe.settled:
            probe.settled = True
            self.books.settled += 1

    def mark(
        self,
        mark: Mark,
        state: PartitionState,
        held: Absent,
        *,
        at_ns: int,
        sentence: str,
        target_offset: int | None = None,
    ) -> None:
        """Count a mark for each probe of a range, and end their being outstanding where they were.

        The range is taken out of the partition's absent ones before.
        """
        count = held.count
        self.books.count(mark, count)
        if held.outstanding:
            self.books.outstanding -= count
        self._out.append(
            Marked(
                mark,
                state.topic_id,
                state.partition,
                held.first,
                at_ns,
                held.first_offset,
                target_offset,
                sentence,
                count,
            )
        )

    def mark_record(self, mark: Mark, event: SeenAtTarget, identity: Identity | None, sentence: str) -> None:
        """Count a mark for a record on the target, by the partition in which it stands."""
        self.books.count(mark)
        topic_id, sequence = (identity.topic_id, identity.sequence) if identity else ("", -1)
        self._out.append(
            Marked(mark, topic_id, event.partition, sequence, event.at_ns, None, event.offset, sentence)
        )

    def mark_loop(self, state: PartitionState, sequence: int, at_ns: int, offset: int) -> None:
        """Count a probe that came back into its own source partition."""
        self.books.count(Mark.LOOPED)
        sentence = f"it stands in the source's log again, at offset {offset}"
        self._out.append(
            Marked(Mark.LOOPED, state.topic_id, state.partition, sequence, at_ns, offset, None, sentence)
        )

    def time(self, stage: Stage, duration_ns: int, at_ns: int) -> None:
        """Tell how long a stage took; never less than nothing."""
        self._out.append(Timed(stage, max(0, duration_ns), at_ns))

    def time_replication(self, probe: Probe, at_ns: int) -> None:
        """Tell the replication stage of a probe that arrived and is located on the source."""
        if probe.arrived_ns is not None and probe.located_ns is not None:
            self.time(Stage.REPLICATION, probe.arrived_ns - probe.located_ns, at_ns)
