"""What audits say of a flow, for the tests of verdicts: `audited()` has found nothing unless told otherwise."""

from __future__ import annotations

from dataclasses import replace

from fleet.verdicts.checksum_evidence import ChecksumEvidence, ChecksumFound
from fleet.verdicts.vocabulary import Cause, Evidence, Verdict
from tests.fleet.verdicts.test_judgement import NOW

LOST_SAID = "orders [0]: the record at offset 41 on A, of 2026-05-28T03:00:00.000Z, is not on B"


def row(sentence=LOST_SAID, *, at=NOW, topic="orders", partition=0, source=41, target=None):
    return Evidence("checksum", sentence, at, topic, partition, source, target)


def found(verdict=Verdict.LOSING, cause=Cause.UNEXPLAINED, *, ago_s=3600.0, topics=(("orders", 1),), **more):
    at = NOW - ago_s
    one = ChecksumFound(verdict, cause, at, sum(count for _, count in topics), tuple(topics), (row(at=at),))
    return replace(one, **more)


def audited(*found, ago_s=3600.0, coverage=1.0, records=1000, findings=None):
    count = len(found) if findings is None else findings
    return ChecksumEvidence(NOW - ago_s, coverage, records, count, tuple(found))
