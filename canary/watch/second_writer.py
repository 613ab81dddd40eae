"""Proof that two writers copy one partition, by probes that arrive twice as they are sent. Pure.

A mirror that restarts goes back to its last offset and repeats what it had replicated since. Each restart
repeats some old probes, and never one that it has yet to replicate. So if a probe was sent after a second
arrival, and arrives twice itself, there was another restart or a second writer. One or two restarts give one
or two such probes, with seconds of silence between the arrivals. A worker that was frozen, and wakes after
another one took over, repeats its backlog in one burst and stops within a second or two.

A second writer repeats every probe. The proof is a chain of `LINKS` probes. Each arrived twice within
`CLOSE_NS`. Each but the first was sent after the second arrival of the one before. No probe between them
arrived only once. The chain lasted `LASTED_NS`. The writers may differ by less than `CLOSE_NS`; if they
differ by more, duplicates that continue for longer than a horizon show it (fleet/verdicts/content.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field

CLOSE_NS = 2_000_000_000  # no worker and no task restarts within this time
LINKS = 5
LASTED_NS = 2_000_000_000


@dataclass(slots=True)
class Chain:
    """Probes of one partition that arrived twice in a row; instants are monotonic nanoseconds."""

    links: int = 0
    proved: bool = False
    _began_ns: int = 0  # when the second copy of its first link was read
    _first_sent_ns: int = 0  # when that link was sent
    _seen_ns: int = 0  # when the second copy of the newest link was read
    _once: dict[int, tuple[int, int]] = field(default_factory=dict)  # sequence: when sent, when first read

    def arrive(self, sequence: int, sent_ns: int, at_ns: int) -> None:
        """Process the first arrival of a probe."""
        self._expire(at_ns)
        self._once[sequence] = sent_ns, at_ns

    def repeat(self, sequence: int, at_ns: int) -> int:
        """Process another arrival; return how many more probes prove a second writer, or 0.

        The first time that is the whole chain, later 1 for each further link.
        """
        self._expire(at_ns)
        held = self._once.pop(sequence, None)
        if held is None or (self.links and held[0] <= self._seen_ns):
            return 0  # a third arrival, an old probe, or one that was in flight already
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
        """Break the chain if a probe arrived only once for too long."""
        while self._once and now_ns - next(iter(self._once.values()))[1] > CLOSE_NS:
            sent_ns, _ = self._once.pop(next(iter(self._once)))
            if sent_ns > self._first_sent_ns:
                self.links, self.proved = 0, False
