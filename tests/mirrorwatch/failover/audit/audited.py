"""Audits of two flows, as answers of the audit's process."""

from __future__ import annotations

import asyncio

from fleet.verdicts.flow import Flow
from lagmon.drift.differences import Kind
from mirrorwatch.failover.audit.answers import AuditAnswers
from mirrorwatch.failover.audit.rounds import Audits, FlowAudit
from tests.mirrorwatch.failover.test_text import FOUND
from tests.runtime.fake_clock import FakeClock

AT = 1_800_000_000.5
AUDITS = {
    "A->B": FlowAudit(FOUND.flow, FOUND, AT, drift={Kind.TOPIC_MISSING: 2, Kind.CONFIG: 0, Kind.ACL: None}),
    "B->A": FlowAudit(Flow("B", "A", mirror_version="4.3"), problem="cluster A: no answer"),
}


class Process:
    """Answers like the process, without one."""

    on = True

    def __init__(self, audits=AUDITS, number=1):
        self.audits = Audits(dict(audits), number)
        self._answers = AuditAnswers(self.audits, max_series=1000, clock=FakeClock())

    async def ask(self, question, **details):
        answer = await self._answers.answer({"question": question, **details})
        return answer.head, b"".join(answer.pieces)

    def now(self, question, **details):
        return asyncio.run(self.ask(question, **details))
