"""Topics with offsets of a mirror that the list of the source's topics lacks. Pure.

Topics are listed once a minute only, so a mirror may have replicated a new topic before it is listed. For a
topic whose id was never read, time decides: offsets written a while before a list without the topic belong to
a removed log, and are forgotten. Later offsets count as soon as the topic is listed.

A topic whose id is known may return, as the same topic or as another one of its name. Its data is kept, and
does not count, until the topic is listed again and its id is read. If the id is another one, offsets written
up to the newest list without the topic belong to the old log.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lagmon.mirrors.metadata.topics import ids_within_ms

if TYPE_CHECKING:
    from lagmon.mirrors.detectors.recreated.losses import RecreatedTopics
    from lagmon.mirrors.view import FlowView

    Name = tuple[str, int]  # topic and partition

LISTED_WITHIN_MS = 60_000  # a broker that has just started may lack topics in its list
_NOT_BACK = -1


@dataclass(slots=True)
class _Away:
    """A topic that was listed once: when the newest list without it was read, and since when it is back."""

    lacked_ms: int
    back_ms: int = _NOT_BACK


@dataclass(slots=True)
class UnlistedTopics:
    """Follows the topics of one flow, by their names on the source."""

    _recreated: RecreatedTopics
    _away: dict[str, _Away] = field(default_factory=dict)

    @property
    def silent(self) -> frozenset[str]:
        """Return the topics of which no offset counts before their ids are read."""
        return frozenset(self._away)

    def follow(self, flow: FlowView, now_ms: int) -> None:
        """Keep or forget what is known of topics that the newest list lacks."""
        there, listed_ms = flow.source.topics, flow.source.listed_ms
        lacking: dict[str, list[Name]] = {}
        for topic, partition, _ in flow.windows.slots():
            if topic not in there:
                lacking.setdefault(topic, []).append((topic, partition))
        for topic, names in lacking.items():
            if (topic, "source") in flow.topics.ids:
                if topic not in self._away:
                    self._recreated.note_gone(flow, topic, gone_ms=listed_ms)
                self._away[topic] = _Away(listed_ms)
            else:
                self._give_up(topic)
                flow.windows.forget_until(names, listed_ms - LISTED_WITHIN_MS)
        # Ids are read for the topics that flows use there: at most all topics of the cluster.
        within_ms = ids_within_ms(len(there))
        for topic in self._away.keys() & there.keys():
            one = self._away[topic]
            if one.back_ms == _NOT_BACK:
                one.back_ms = now_ms
            elif now_ms - one.back_ms > within_ms:
                self._forget_old_log(flow, topic, one)
                self._give_up(topic)

    def note_id(self, flow: FlowView, topic: str, *, is_another: bool) -> None:
        """Note that the id of a topic was read: after an absence, that shows whether it is another one."""
        one = self._away.pop(topic, None)
        if one is None:
            return
        if is_another:
            self._forget_old_log(flow, topic, one)
        else:
            self._recreated.note_back(topic)

    def _forget_old_log(self, flow: FlowView, topic: str, one: _Away) -> None:
        names = [(name, partition) for name, partition, _ in flow.windows.slots() if name == topic]
        flow.windows.forget_until(names, one.lacked_ms)

    def _give_up(self, topic: str) -> None:
        """Stop waiting for its id: nothing shows which log its former offsets belong to."""
        if self._away.pop(topic, None) is not None:
            self._recreated.note_back(topic)
