"""Turn what taps and producers report into events for the trackers, and problems for the user."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

from canary.site.probing import Tag
from canary.site.reader import alias_of
from canary.tracker.events import (
    Acked,
    Refused,
    Scheduled,
    SeenAtSource,
    SeenAtTarget,
    Sent,
    Skipped,
    TargetGap,
    TargetRead,
)
from canary.tracker.plan import Attempt
from canary.tracker.stamp import ForeignRecord, Intact, Reading, decode
from canary.watch.foreign_records import ForeignRecords
from fleet.errors import RefusedError
from runtime.kafka.sender import Delivered, NotDelivered, SenderFault
from runtime.kafka.tap import TapFault, TappedEnd, TappedRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from canary.dispatch import Dispatch
    from canary.flows import WatchedFlow
    from canary.inbox import Item
    from canary.report import Reporter
    from canary.self_check import SelfCheck
    from canary.site.site import Site
    from canary.watch.watch import Instant


class Intake:
    """Processes each item; `topic` is the canary's on every source."""

    def __init__(
        self,
        topic: str,
        sites: Mapping[str, Site],
        dispatch: Dispatch,
        self_check: SelfCheck,
        *,
        reporter: Reporter,
    ) -> None:
        self.foreign_records: defaultdict[str, ForeignRecords] = defaultdict(ForeignRecords)  # by source
        self._topic = topic
        self._sites = sites
        self._dispatch = dispatch
        self._self_check = self_check
        self._reporter = reporter
        # Reported problems by cluster and topic (empty: all of its topics); checked for each record.
        self._not_read: set[tuple[str, str]] = set()
        self._not_written: set[str] = set()  # the same for writing, by cluster
        self._now = dispatch.now()  # when the current batch was processed; it measures nothing

    def release(self, now: Instant, *, all_of_it: bool = False) -> None:
        """Pass on records that waited long enough for a comparison with the source, or all."""
        self._now = now
        for foreign_records in self.foreign_records.values():
            foreign_records.release(now.ns, all_of_it=all_of_it)

    def take(self, items: Iterable[Item]) -> None:
        """Process items of schedules, taps and producers, in order."""
        self._now = self._dispatch.now()
        for item in items:
            match item:
                case TappedRecord():
                    self._take_record(item)
                case TappedEnd():
                    self._take_end(item)
                case Attempt():
                    self._take_attempt(item)
                case Delivered():
                    self._take_delivery(item)
                case TapFault():
                    self._take_fault(item)
                case NotDelivered():
                    self._take_refusal(item)
                case SenderFault(alias, error):
                    self._note_not_written(alias, str(error))

    def _take_attempt(self, attempt: Attempt) -> None:
        topic_id, partition, sequence = attempt.topic_id, attempt.partition, attempt.sequence
        scheduled = Scheduled(topic_id, partition, sequence, attempt.at_ns, attempt.due_at_ms)
        self._dispatch.deliver_to_source(attempt.alias, scheduled, self._now)
        ended: Sent | Skipped
        if attempt.sent_ns is None:
            ended = Skipped(topic_id, partition, sequence)
        else:
            ended = Sent(topic_id, partition, sequence, attempt.sent_ns)
            self._self_check.note_sent(attempt.alias, attempt.sent_ns)
        self._dispatch.deliver_to_source(attempt.alias, ended, self._now)

    def _take_delivery(self, report: Delivered) -> None:
        tag = report.tag
        assert isinstance(tag, Tag)
        self._self_check.note_report(tag.alias)
        if report.offset is not None:  # otherwise the source's tap finds its offset
            acked = Acked(tag.topic_id, tag.partition, tag.sequence, report.offset, report.at_ns)
            self._dispatch.deliver_to_source(tag.alias, acked, self._now)
        if tag.alias not in self._sites:
            return  # it was removed meanwhile
        self._sites[tag.alias].counts.last_success_at["sender"] = self._now.at
        if tag.alias in self._not_written:
            self._not_written.remove(tag.alias)
            self._reporter.settled(f"{tag.alias}: writing {self._topic}")

    def _take_record(self, record: TappedRecord) -> None:
        site = self._sites.get(alias_of(record.tap))
        if site is None:
            return
        leaps = site.reader.leaps(record)
        if not site.reader.note(record):
            return
        if leaps:
            self._deliver_gap(site, record)
        self._note_read(site, record.topic)
        arriving = self._dispatch.by_target.get((site.alias, record.topic), ())
        added = arriving[0].flow.added_headers if arriving else frozenset()  # the same for every flow
        reading = decode(record.key, record.value, record.headers, ignored_headers=added)
        if isinstance(reading, ForeignRecord):
            site.counts.foreign_records += 1
        if record.topic == self._topic and site.alias in self._dispatch.by_source:
            seen = SeenAtSource(record.partition, record.offset, reading, record.at_ns)
            self._dispatch.deliver_to_source(site.alias, seen, self._now)
            if not isinstance(reading, Intact):
                self.foreign_records[site.alias].add(record)
        end = max(record.end_offset, record.offset + 1)
        for watched in arriving:
            foreign_records = self.foreign_records[watched.flow.source]
            if foreign_records.idle and isinstance(reading, Intact):
                self._give(watched, record, end, reading)
            else:
                give = partial(self._give, watched, record, end)
                foreign_records.sort(record, reading, give, line=(watched.flow.name, record.partition))

    def _take_end(self, end: TappedEnd) -> None:
        site = self._sites.get(alias_of(end.tap))
        if site is None:
            return
        leaps = site.reader.leaps(end)
        if not site.reader.note(end):
            return
        if leaps:
            self._deliver_gap(site, end)
        self._note_read(site, end.topic)
        read = TargetRead(end.partition, end.position, end.position)
        self._dispatch.deliver_to_target(site.alias, end.topic, read, self._now)

    def _deliver_gap(self, site: Site, tapped: TappedRecord | TappedEnd) -> None:
        gap = TargetGap(tapped.partition, tapped.at_ns)
        self._dispatch.deliver_to_target(site.alias, tapped.topic, gap, self._now)

    def _note_read(self, site: Site, topic: str) -> None:
        site.counts.last_success_at["tap"] = self._now.at
        self._self_check.clear_refusal(site.alias, topic)
        if self._not_read:
            for place in ((site.alias, topic), (site.alias, "")):
                if place in self._not_read:
                    self._not_read.remove(place)
                    self._reporter.settled(_reading(*place))

    def _take_fault(self, fault: TapFault) -> None:
        site = self._sites.get(alias_of(fault.tap))
        if site is None or not site.reader.note_fault(fault):
            return
        site.counts.errors["tap"] += 1
        if isinstance(fault.error, RefusedError):
            self._self_check.note_refusal(site.alias, fault.topic, str(fault.error))
        self._not_read.add((site.alias, fault.topic))
        self._reporter.problem(_reading(site.alias, fault.topic), str(fault.error))

    def _take_refusal(self, report: NotDelivered) -> None:
        tag = report.tag
        assert isinstance(tag, Tag)
        self._self_check.note_report(tag.alias)
        if not report.ended:
            self._note_not_written(tag.alias, str(report.error))
        # A probe that may be in the log, or was stopped by the prober, was not refused: it is left to the
        # source's tap, the horizon or the shutdown.
        if not report.in_doubt and not report.ended:
            refused = Refused(tag.topic_id, tag.partition, tag.sequence, str(report.error))
            self._dispatch.deliver_to_source(tag.alias, refused, self._now)

    def _note_not_written(self, alias: str, sentence: str) -> None:
        if alias not in self._sites:
            return
        self._not_written.add(alias)
        self._sites[alias].counts.errors["sender"] += 1
        self._reporter.problem(f"{alias}: writing {self._topic}", sentence)

    def _give(self, watched: WatchedFlow, record: TappedRecord, end: int, reading: Reading) -> None:
        seen = SeenAtTarget(record.partition, record.offset, end, reading, record.at_ns)
        self._dispatch.deliver_to_flow(watched, seen, self._now)


def _reading(alias: str, topic: str) -> str:
    """Return the place of a problem with reading this topic, or all topics of the cluster if empty."""
    return f"{alias}: reading {topic}" if topic else f"{alias}: reading"
