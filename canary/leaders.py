"""Which partitions of a topic are worth asking about: those whose leader is there and has answered lately.

To a question for a leader that has just died, the client library tries to connect thousands of times a second
until the question's time is up, a core's work for nothing. So one that did not answer is left alone for a
while, or until another broker leads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runtime.kafka.admin import TopicDescription

PAUSE_S = 10.0


class Leaders:
    """Remembers which brokers of one cluster were silent; instants are monotonic ns."""

    def __init__(self) -> None:
        self._silent_until_ns: dict[int, int] = {}

    def answering(self, topic: TopicDescription, now_ns: int) -> list[int]:
        """Return the partitions to ask about."""
        return [
            number
            for number, leader in enumerate(topic.leaders)
            if leader is not None and self._silent_until_ns.get(leader, now_ns) <= now_ns
        ]

    def note(
        self, topic: TopicDescription, asked: Iterable[int], answered: Iterable[int], now_ns: int
    ) -> None:
        """Note of which partitions the leaders have answered, of those that were asked about."""
        heard = {topic.leaders[number] for number in answered}
        for leader in {topic.leaders[number] for number in asked}:
            if leader is None:
                continue
            if leader in heard:
                self._silent_until_ns.pop(leader, None)
            else:
                self._silent_until_ns[leader] = now_ns + int(PAUSE_S * 1e9)
