"""Whether two writers copy one partition at once, by probes that come twice as they are sent. Pure.

A mirror that starts again goes back to its last offset and repeats what it had copied since: each start
repeats some old probes, and never one that it has yet to copy. So a probe that was sent after a second copy
was read, and comes twice itself, takes another start, or a second writer. One or two starts give one or two
such probes, with seconds of silence between the copies. A worker that was frozen, and wakes after another
took over, repeats what it slept through in one burst and is stopped within a second or two.

A second writer repeats every probe. It is proved by `LINKS` probes in a chain: each came twice within
`CLOSE_NS`, each but the first was sent after the second copy of the one before was read, no probe between
them came only once, and the chain lasted for `LASTED_NS`. Both writers may differ by less than `CLOSE_NS`;
where they differ by more, duplicates that go on for longer than a horizon tell (fleet/verdicts/content.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field

CLOSE_NS = 2_000_000_000  # no worker and no task starts again within this time
LINKS = 5
LASTED_NS = 2_000_000_000


@dataclass(slots=True)
class Chain:
    """The probes of one partition that came twice in a row; instants are monotonic nanoseconds."""

    links: int = 0
    proved: bool = False
    _began_ns: int = 0  # when the second copy of its first link was read
    _first_sent_ns: int = 0  # when that link was sent
    _seen_ns: int = 0  # when the second copy of the newest link was read
    _once: dict[int, tuple[int, int]] = field(default_factory=dict)  # sequence: when sent, when first read

    def arrive(self, sequence: int, sent_ns: int, at_ns: int) -> None:
        """Take in the first copy of a probe."""
        self._expire(at_ns)
        self._once[sequence] = sent_ns, at_ns

    def repeat(self, sequence: int, at_ns: int) -> int:
        """Take in a further copy; return how many probes more prove a second writer by it, 0 if it is none.

        The first time that is the whole chain, later each further link.
        """
        self._expire(at_ns)
        held = self._once.pop(sequence, None)
        if held is None or (self.links and held[0] <= self._seen_ns):
            return 0  # a third copy, an old probe, or one that was under way already
        if not self.links:
            self._began_ns, self._first_sent_ns = at_ns, held[0]
        self.links += 1
        self._seen_ns = at_ns
        if self.proved:
            return 1
        if self.links < LINKS or at_ns - self._began_ns < LASTED_NS:
            return 0
        self.proved = True
        return self.links

    def _expire(self, now_ns: int) -> None:
        """Break the chain if a probe came only once for so long that no second copy of it counts."""
        while self._once and now_ns - next(iter(self._once.values()))[1] > CLOSE_NS:
            sent_ns, _ = self._once.pop(next(iter(self._once)))
            if sent_ns > self._first_sent_ns:
                self.links, self.proved = 0, False
