"""What the audit's process answers about the last audit of each flow: a head and JSON or series."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from fleet.dialect import chosen, moment_text, page, unknown_name
from lagmon.exposition.format import Form
from lagmon.failover.sentences import group_sentence
from mirrorwatch.failover.audit.series import series_text, status_of
from mirrorwatch.failover.document import group_document, partitions_document
from runtime.process.channel import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from lagmon.failover.readiness import GroupReadiness
    from mirrorwatch.failover.audit.rounds import Audits, FlowAudit
    from mirrorwatch.failover.facts import FlowFailover
    from runtime.process.clock import Clock

MOST_SHOWN = 20  # groups of a flow in the overview
_Ask = dict[str, Any]


class AuditAnswers:
    """Answers questions by name; raises KeyError for an unknown one."""

    def __init__(self, audits: Audits, *, max_series: int, clock: Clock) -> None:
        self._audits = audits
        self._max_series = max_series
        self._clock = clock
        self._texts: dict[Form, tuple[int, bytes]] = {}
        self._answers: dict[str, Callable[[_Ask], Answer]] = {
            "flows": self._flows,
            "metrics": self._metrics,
            "groups": self._groups,
            "group": self._group,
        }

    async def answer(self, question: _Ask) -> Answer:
        """Return the answer to one question."""
        return self._answers[question["question"]](question)

    def _flows(self, question: _Ask) -> Answer:
        """Answer with an overview of each flow; with nothing if there was no audit since number `since`."""
        head = {"number": self._audits.number}
        if question["since"] == self._audits.number:
            return Answer(head)
        return Answer(head, [_json({"flows": [_overview(one) for one in self._audits.flows.values()]})])

    def _metrics(self, question: _Ask) -> Answer:
        form = Form(question["form"])
        number, text = self._texts.get(form, (-1, b""))
        if number != self._audits.number:
            number = self._audits.number
            text = series_text(self._audits.flows.values(), form, max_series=self._max_series)
            self._texts[form] = number, text
        return Answer({}, [text])

    def _groups(self, question: _Ask) -> Answer:
        """Answer with a page of groups, worst first."""
        only = question["flow"]
        if only and only not in self._audits.flows:
            return self._unknown_flow(only)
        audits = [one for name, one in self._audits.flows.items() if only in ("", name)]
        found = [
            (audit.found, group)
            for audit in audits
            if audit.found is not None
            for group in audit.found.groups
            if question["search"].lower() in group.group.lower()
        ]
        found.sort(key=lambda one: _rank(*one))
        shown = found[question["first"] : question["first"] + question["most"]]
        documents = ({"flow": one.flow.name, **group_document(one, group)} for one, group in shown)
        groups = [chosen(one, question["fields"]) for one in documents]
        document = {
            "now": moment_text(self._clock.wall_s()),
            **page("groups", groups, offset=question["first"], count=len(found), address=question["address"]),
            "flows": [_standing(one) for one in audits],
        }
        return Answer({"status": 200}, [_json(document)])

    def _group(self, question: _Ask) -> Answer:
        """Answer with one group and its partitions, worst first."""
        audit = self._audits.flows.get(question["flow"])
        if audit is None:
            return self._unknown_flow(question["flow"])
        groups = {} if audit.found is None else {one.group: one for one in audit.found.groups}
        group = groups.get(question["group"])
        if audit.found is None or group is None:
            return _refusal("unknown_group", unknown_name("group", question["group"], groups))
        partitions = partitions_document(group, audit.flow.target)
        first, most = question["first"], question["most"]
        document = {
            "at": moment_text(audit.at),
            "flow": audit.flow.name,
            **group_document(audit.found, group),
            **page(
                "partitions",
                [chosen(one, question["fields"]) for one in partitions[first : first + most]],
                offset=first,
                count=len(partitions),
                address=question["address"],
            ),
        }
        return Answer({"status": 200}, [_json(document)])

    def _unknown_flow(self, name: str) -> Answer:
        return _refusal("unknown_flow", unknown_name("flow", name, self._audits.flows))


def _overview(audit: FlowAudit) -> dict[str, Any]:
    found = audit.found
    worst = [] if found is None else sorted(found.groups, key=lambda one: _rank(found, one))
    return {
        "flow": audit.flow.name,
        "at": audit.at,
        "drain_s": audit.drain_s,
        "drift": _drift(audit),
        "problem": audit.problem or (found.source_problem if found is not None else ""),
        "group_count": len(worst),
        "by_status": _by_status(found),
        "ready_count": 0 if found is None else sum(map(found.is_ready, worst)),
        "worst": [
            {
                "group": one.group,
                "status": status_of(found, one),
                "sentence": group_sentence(one, audit.flow.target),
                "read_again": one.read_again_records,
                "skipped": one.skipped_records,
                "at_risk": one.at_risk_records,
            }
            for one in worst[:MOST_SHOWN]
            if found is not None and not found.is_ready(one)
        ],
    }


def _standing(audit: FlowAudit) -> dict[str, Any]:
    found = audit.found
    return {
        "flow": audit.flow.name,
        "at": moment_text(audit.at),
        "drain_s": audit.drain_s,
        "drift": _drift(audit),
        "problem": audit.problem or None,
        "source_problem": None if found is None else found.source_problem or None,
        "groups_by_status": _by_status(found),
        "excluded_groups": 0 if found is None else len(found.excluded),
    }


def _drift(audit: FlowAudit) -> dict[str, int | None]:
    return {kind.value: count for kind, count in audit.drift.items()}


def _by_status(found: FlowFailover | None) -> dict[str, int]:
    return {} if found is None else dict(Counter(status_of(found, one) for one in found.groups))


def _rank(found: FlowFailover, group: GroupReadiness) -> tuple[bool, int, str, str]:
    """Return the order of a group: those that are not ready first, then by status and name."""
    return found.is_ready(group), group.status.rank, group.group, found.flow.name


def _refusal(code: str, sentence: str) -> Answer:
    return Answer({"status": 404, "code": code}, [_json({"error": sentence})])


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")
