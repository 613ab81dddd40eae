"""What was lost with re-created topics, and what target topics held, as rows for a restart. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fleet.errors import MalformedError
from fleet.verdicts.vocabulary import Cause
from lagmon.mirrors.answers.findings import MirrorFinding
from lagmon.mirrors.detectors.recreated.followed import RecreatedTopic
from lagmon.mirrors.detectors.recreated.outcome import Base
from lagmon.mirrors.target_ends.ends import TargetPoll
from lagmon.snapshots.reading import MOST_LONG, MOST_ROWS, instant, number, numbers, rows, table, text

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Mapping

    from lagmon.mirrors.flow import MirrorFlow

MOST_FINDINGS = 10_000
_MOST_TEXT = 2000
_SIDES = ("source", "target")


@dataclass(frozen=True, slots=True)
class KeptLosses:
    """Shown findings, the mirror's positions before topics were removed, and what target topics held."""

    copies: list[MirrorFinding] = field(default_factory=list)
    passed_over: list[MirrorFinding] = field(default_factory=list)
    sent_to: dict[tuple[str, int], int] = field(default_factory=dict)
    ends: dict[str, TargetPoll] = field(default_factory=dict)
    undecided: list[RecreatedTopic] = field(default_factory=list)  # of an earlier program none


@dataclass(frozen=True, slots=True)
class CopiedLosses:
    """What `losses_document` is made of, copied under the locks of a flow: a few dictionaries and lists."""

    copies: list[MirrorFinding]
    passed_over: list[MirrorFinding]
    sent_to: dict[tuple[str, int], int]
    polls: dict[str, deque[TargetPoll]]
    undecided: list[RecreatedTopic] = field(default_factory=list)

    @classmethod
    def of(cls, flow: MirrorFlow) -> CopiedLosses:
        """Copy them."""
        known = flow.detectors.recreated
        return cls(*known.kept(), known.ends.polls(), known.kept_undecided())


def losses_document(copied: CopiedLosses, known_ms: Mapping[str, int]) -> dict[str, Any]:
    """Return what is to be kept; `known_ms` is when the id of each topic on the target was read last.

    Of the looks at a topic it is the last one until then: that one surely was at the topic of this id.
    """
    ends = []
    for topic, polls in copied.polls.items():
        sure = [held for held in tuple(polls) if held.at_ms <= known_ms.get(topic, -1)]
        if sure:
            ends.append((topic, sure[-1].at_ms, *sure[-1].known[:3].tolist()))
    return {
        "copies": [row_of(one) for one in copied.copies[-MOST_FINDINGS:]],
        "passed_over": [row_of(one) for one in copied.passed_over[-MOST_FINDINGS:]],
        "sent_to": [(*name, offset) for name, offset in copied.sent_to.items()],
        "ends": ends,
        "undecided": [
            (
                recreated.topic,
                recreated.at_ms,
                recreated.gone_ms,
                [
                    (partition, base.next_offset, base.at_ms, base.target_end, int(base.sure), base.log_most)
                    for partition, base in recreated.open.items()
                ],
                recreated.known_ms,
            )
            for recreated in copied.undecided
        ],
    }


def read_losses(document: Mapping[str, Any]) -> KeptLosses:
    """Return what was kept; raises MalformedError, in words, for anything else."""
    return KeptLosses(
        [finding_of(row) for row in rows(document.get("copies"), most=MOST_FINDINGS)],
        [finding_of(row) for row in rows(document.get("passed_over"), most=MOST_FINDINGS)],
        {
            (text(topic, most=_MOST_TEXT), number(partition, least=0, most=MOST_ROWS)): number(
                offset, least=0, most=MOST_LONG
            )
            for topic, partition, offset in table(document, "sent_to", 3)
        },
        dict(_ends(row) for row in rows(document.get("ends"), most=MOST_ROWS)),
        [_undecided(row) for row in rows(document.get("undecided", []), most=MOST_ROWS)],
    )


def row_of(one: MirrorFinding) -> list[object]:
    """Return a finding about a partition as a row."""
    numbers_told = (one.records, one.first_offset, one.last_offset)
    return [
        str(one.code),
        one.topic,
        one.partition,
        one.at_ms,
        one.sentence,
        *numbers_told,
        one.side,
        one.proved,
        one.records_most,
    ]


def finding_of(row: object) -> MirrorFinding:
    """Return the finding of a row; raises MalformedError, in words, for anything else."""
    kept = rows(row, least=10, most=11)
    code, topic, partition, at_ms, sentence, *told, side, proved = kept[:10]
    most = kept[10] if len(kept) > 10 else None  # an earlier program kept lower bounds alone
    if side not in _SIDES or not isinstance(proved, bool) or code not in tuple(Cause):
        raise MalformedError("snapshot: invalid finding about lost records")
    records, first_offset, last_offset = (
        None if one is None else number(one, least=-1, most=MOST_LONG) for one in told
    )
    records_most = None if most is None else number(most, least=0, most=MOST_LONG)
    return MirrorFinding(
        code=Cause(str(code)),
        topic=text(topic, most=_MOST_TEXT),
        partition=number(partition, least=0, most=MOST_ROWS),
        at_ms=instant(at_ms),
        sentence=text(sentence, most=_MOST_TEXT),
        records=records,
        first_offset=first_offset,
        last_offset=last_offset,
        side=str(side),
        proved=proved,
        records_most=records_most,
    )


def _undecided(row: object) -> RecreatedTopic:
    topic, at_ms, gone_ms, bases, *known = rows(row, least=4, most=5)  # of an older process not since when
    known_ms = instant(known[0]) if known else -1
    recreated = RecreatedTopic(
        text(topic, most=_MOST_TEXT), instant(at_ms), instant(gone_ms), known_ms=known_ms
    )
    for of_base in rows(bases, most=MOST_ROWS):
        partition, next_offset, base_ms, *told = rows(of_base, least=6, most=6)
        end, sure, log_most = numbers(told, count=3, least=-1, most=MOST_LONG)
        recreated.open[number(partition, least=0, most=MOST_ROWS)] = Base(
            number(next_offset, least=0, most=MOST_LONG),
            instant(base_ms),
            end,
            bool(number(sure, least=0, most=1)),
            log_most,
        )
    return recreated


def _ends(row: object) -> tuple[str, TargetPoll]:
    topic, at_ms, *told = rows(row, least=4, most=5)  # of an older process not where the mirror was
    count = len(rows(told[0], most=MOST_ROWS))
    known = np.full((4, count), -1, np.int64)
    for place, one in enumerate(told):
        known[place] = numbers(one, count=count, least=-1, most=MOST_LONG)
    return text(topic, most=_MOST_TEXT), TargetPoll(instant(at_ms), known)
