"""What taps and producers have seen becomes events for the trackers, and problems for a person."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from canary.events import Acked, Refused, SeenAtSource, SeenAtTarget, TargetRead
from canary.probing import Tag
from canary.reader import alias_of
from canary.stamp import Intact, Reading, decode
from canary.strangers import Strangers
from fleet.errors import RefusedError
from runtime.kafka.sender import Delivered, NotDelivered, SenderFault
from runtime.kafka.tap import TapFault, TappedEnd, TappedRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from canary.dispatch import Dispatch
    from canary.doubt import Doubts
    from canary.flows import WatchedFlow
    from canary.report import Reporter
    from canary.site import Site
    from runtime.clock import Clock
    from runtime.kafka.sender import Report
    from runtime.kafka.tap import Tapped


class Intake:
    """Reads each item once; `topic` is the canary's on every source."""

    def __init__(
        self,
        topic: str,
        sites: Mapping[str, Site],
        dispatch: Dispatch,
        doubts: Doubts,
        *,
        clock: Clock,
        reporter: Reporter,
    ) -> None:
        self.strangers = {alias: Strangers() for alias in dispatch.by_source}
        self._topic = topic
        self._sites = sites
        self._dispatch = dispatch
        self._doubts = doubts
        self._clock = clock
        self._reporter = reporter
        # What was complained of, by cluster and topic (empty: all of its topics); asked for each record.
        self._not_read: set[tuple[str, str]] = set()

    def release(self, now_ns: int) -> None:
        """Let go of copies that waited to be compared with the source for long enough."""
        for strangers in self.strangers.values():
            strangers.release(now_ns)

    def take(self, items: list[Tapped | Report]) -> None:
        """Take in what taps and producers have seen, in the order in which they saw it."""
        for item in items:
            match item:
                case TappedRecord():
                    self._take_record(item)
                case TappedEnd():
                    self._take_end(item)
                case TapFault():
                    self._take_fault(item)
                case Delivered(tag, offset, at_ns):
                    assert isinstance(tag, Tag)
                    acked = Acked(tag.topic_id, tag.partition, tag.sequence, offset, at_ns)
                    self._dispatch.tell_source(tag.alias, acked)
                    self._sites[tag.alias].counts.last_success_at["sender"] = self._clock.wall_s()
                    self._reporter.settled(f"{tag.alias}: writing {self._topic}")
                case NotDelivered():
                    self._take_refusal(item)
                case SenderFault(alias, error):
                    self._note_not_written(alias, str(error))

    def _take_record(self, record: TappedRecord) -> None:
        site = self._sites[alias_of(record.tap)]
        if not site.reader.note(record):
            return
        self._note_read(site, record.topic)
        reading = decode(record.key, record.value, record.headers)
        if record.topic == self._topic and site.alias in self._dispatch.by_source:
            seen = SeenAtSource(record.partition, record.offset, reading, record.at_ns)
            self._dispatch.tell_source(site.alias, seen)
            if not isinstance(reading, Intact):
                self.strangers[site.alias].add(record)
        end = max(record.end_offset, record.offset + 1)
        for held in self._dispatch.by_target.get((site.alias, record.topic), ()):
            give = partial(self._give, held, record, end)
            self.strangers[held.flow.source].sort(record, reading, give)

    def _take_end(self, end: TappedEnd) -> None:
        site = self._sites[alias_of(end.tap)]
        if not site.reader.note(end):
            return
        self._note_read(site, end.topic)
        self._dispatch.tell_target(
            site.alias, end.topic, TargetRead(end.partition, end.position, end.position)
        )

    def _note_read(self, site: Site, topic: str) -> None:
        site.counts.last_success_at["tap"] = self._clock.wall_s()
        self._doubts.clear_refusal(site.alias, topic)
        if self._not_read:
            for place in ((site.alias, topic), (site.alias, "")):
                if place in self._not_read:
                    self._not_read.remove(place)
                    self._reporter.settled(_reading(*place))

    def _take_fault(self, fault: TapFault) -> None:
        site = self._sites[alias_of(fault.tap)]
        if not site.reader.note_fault(fault):
            return
        site.counts.errors["tap"] += 1
        if isinstance(fault.error, RefusedError):
            self._doubts.note_refusal(site.alias, fault.topic, str(fault.error))
        self._not_read.add((site.alias, fault.topic))
        self._reporter.problem(_reading(site.alias, fault.topic), str(fault.error))

    def _take_refusal(self, report: NotDelivered) -> None:
        tag = report.tag
        assert isinstance(tag, Tag)
        if not report.ended:
            self._note_not_written(tag.alias, str(report.error))
        # What may be in the log, or was given up by ourselves, was not refused: it is left for the source's
        # tap, for the horizon, or for the shutdown.
        if not report.in_doubt and not report.ended:
            refused = Refused(tag.topic_id, tag.partition, tag.sequence, str(report.error))
            self._dispatch.tell_source(tag.alias, refused)

    def _note_not_written(self, alias: str, sentence: str) -> None:
        self._sites[alias].counts.errors["sender"] += 1
        self._reporter.problem(f"{alias}: writing {self._topic}", sentence)

    def _give(self, held: WatchedFlow, record: TappedRecord, end: int, reading: Reading) -> None:
        seen = SeenAtTarget(record.partition, record.offset, end, reading, record.at_ns)
        self._dispatch.tell(held, seen)


def _reading(alias: str, topic: str) -> str:
    """Return the place of a complaint about reading this topic, or all of the cluster's where it is empty."""
    return f"{alias}: reading {topic}" if topic else f"{alias}: reading"
