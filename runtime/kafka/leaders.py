"""Which partitions are worth asking about: those whose leader is there and has answered lately.

To a question for a leader that has just died, the client library tries to connect thousands of times a second
until the question's time is up, a core's work for nothing. So one that did not answer is left alone for a
while, or until another broker leads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

PAUSE_S = 10.0


class Led(Protocol):
    """A topic of which the leaders are known, by partition; None: there is none."""

    @property
    def leaders(self) -> tuple[int | None, ...]:
        """Return the number of each leader."""
        ...


class Leaders:
    """Remembers which brokers of one cluster were silent; instants are monotonic ns."""

    def __init__(self) -> None:
        self._silent_until_ns: dict[int, int] = {}

    def answering(self, topic: Led, now_ns: int) -> list[int]:
        """Return the partitions to ask about."""
        return [
            number
            for number, leader in enumerate(topic.leaders)
            if leader is not None and not self.is_silent(leader, now_ns)
        ]

    def is_silent(self, leader: int, now_ns: int) -> bool:
        """Tell whether a broker is to be left alone."""
        return self._silent_until_ns.get(leader, now_ns) > now_ns

    def note(self, topic: Led, asked: Iterable[int], answered: Iterable[int], now_ns: int) -> None:
        """Note of which partitions the leaders have answered, of those that were asked about."""
        heard = {topic.leaders[number] for number in answered}
        for leader in {topic.leaders[number] for number in asked}:
            if leader is not None:
                self.note_one(leader, answered=leader in heard, now_ns=now_ns)

    def note_one(self, leader: int, *, answered: bool, now_ns: int) -> None:
        """Note whether a broker that was asked has answered."""
        if answered:
            self._silent_until_ns.pop(leader, None)
        else:
            self._silent_until_ns[leader] = now_ns + int(PAUSE_S * 1e9)
