"""Answers of the ingest process about groups: a page of groups, one group, counts by status."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fleet.dialect import unknown_name
from lagmon.arrays.group_id import group_id
from lagmon.cluster.readiness import away_sentence, not_ready
from lagmon.groups.documents import group_document, groups_document
from lagmon.groups.kinds import CONSUMER, one_sentence
from lagmon.groups.listing import Listed, by_carrier, by_status, group_line, matching
from lagmon.groups.rows import clients, partition_rows
from runtime.process.channel import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from lagmon.groups.view import GroupView
    from lagmon.ingest.watching import ClusterWatch
    from runtime.process.supervision import State


_LEFT_OUT = "This group is not watched: lag.groups or lag.groups_exclude leaves it out."


class GroupAnswers:
    """Answers with an HTTP status in the head and JSON in the body.

    The status is 503 if no requested cluster is read up to the present; the body still holds what is known. A
    question with an `address` comes from /api/v1, one without from a page. `view` returns the verdicts on a
    cluster's groups, at least on the given number of groups that have begun.
    """

    def __init__(
        self,
        watches: Mapping[str, ClusterWatch],
        states: Mapping[str, State],
        *,
        view: Callable[[str, int], GroupView],
        now_s: Callable[[], float],
    ) -> None:
        self._watches = watches
        self._states = states
        self._view = view
        self._now_s = now_s

    def groups(self, question: dict[str, Any]) -> Answer:
        """Return a page of groups, worst first, then by lag."""
        only = question.get("kafka_cluster", "")
        if only and only not in self._watches:
            return self._unknown_cluster(only)
        asked = [only] if only else list(self._watches)
        lacking = self._not_ready(asked)  # first: groups that become known from here on are in the list
        views = self._seen(asked)
        found = self._found(views, question.get("search", ""))
        found.sort()
        first = question.get("first", 0)
        told = [
            group_line(one.alias, one.name, one.number, self._watches[one.alias].lag, views[one.alias])
            for one in found[first : first + question.get("most", 100)]
        ]
        document = {
            "groups": told,
            "count": len(found),
            "offset": first,
            "by_status": by_status(found),
            "carried": _carried(views, found),
            "kafka_clusters": list(self._watches),
            "commits_from": {alias: self._watches[alias].commits_from for alias in asked},
            "other_groups": self._other_groups(asked),
            "not_ready": lacking,
            "away": self._away(asked, lacking),
            "now_ms": int(self._now_s() * 1000),
        }
        if "address" in question:
            return _answer(groups_document(document, **form_of(question)))
        return _answer(document, status=503 if len(lacking) == len(asked) else 200)

    def counts(self, _question: dict[str, Any]) -> Answer:
        """Return the number of groups, in total and by status."""
        lacking = self._not_ready(list(self._watches))
        views = self._seen(self._watches)
        found = self._found(views, "")
        document = {
            "count": len(found),
            "by_status": by_status(found),
            "carried": _carried(views, found),
            "not_ready": lacking,
        }
        return _answer(document)

    def group(self, question: dict[str, Any]) -> Answer:
        """Return one group and its partitions with their windows, worst first.

        The question names the group, or gives the id of its name, which is short for any name.
        """
        alias = question["kafka_cluster"]
        watch = self._watches.get(alias)
        if watch is None:
            return self._unknown_cluster(alias)
        with watch.lock:
            name = question.get("group")
            if name is None:
                name = _named(watch, question["group_id"])
            if name is not None and watch.lag.leaves_out(name):
                return refusal("unknown_group", _LEFT_OUT, status=404)
            kind = "" if name is None else _kind_of(watch, name)
            begun = watch.lag.slots.begun
        lacking = self._not_ready([alias])
        view = self._view(alias, begun)
        with watch.lock:
            number = None if name is None else watch.lag.slots.number(name)
            if name is None or number is None or not view.knows_group(watch.lag.slots, number):
                return _not_found(alias, lacking, kind)
            rows, count = partition_rows(
                watch.lag, view, name, first=question.get("first", 0), most=question.get("most")
            )
            document = group_line(alias, name, number, watch.lag, view) | {
                "commits_from": watch.commits_from,
                "state": watch.lag.group_states.get(name),
                "members": watch.lag.membership.members(name),
                "clients": clients(watch.lag, name),
                "rows": rows,
                "count": count,
                "offset": question.get("first", 0),
                "not_ready": lacking,
                "now_ms": view.now_ms,
            }
        document |= {"away": self._away([alias], lacking)}
        return _answer(group_document(document, **form_of(question)) if "address" in question else document)

    def _seen(self, asked: Iterable[str]) -> dict[str, GroupView]:
        """Return the verdicts that one answer is made from; their numbers mean nothing in others."""
        return {alias: self._view(alias, self._watches[alias].lag.slots.begun) for alias in asked}

    def _found(self, views: Mapping[str, GroupView], search: str) -> list[Listed]:
        found: list[Listed] = []
        for alias, view in views.items():
            watch = self._watches[alias]
            with watch.lock:  # a group that begins meanwhile would end the iteration
                found += matching(alias, watch.lag, view, search)
        return found

    def _other_groups(self, asked: list[str]) -> dict[str, dict[str, int]]:
        """Return how many groups commit no offsets, by cluster and kind."""
        told = {}
        for alias in asked:
            with self._watches[alias].lock:
                told[alias] = self._watches[alias].other_groups
        return told

    def _not_ready(self, asked: list[str]) -> dict[str, Any]:
        told = {}
        for alias in asked:
            watch = self._watches[alias]
            with watch.lock:
                failing = watch.lag.failing
            why = not_ready(self._states.get(alias), watch.progress, failing)
            if why is not None:
                told[alias] = why
        return told

    def _away(self, asked: list[str], lacking: Mapping[str, Any]) -> dict[str, Any]:
        """Return by cluster since when it has not answered and why, if its groups are known."""
        told = {}
        for alias in asked:
            watch = self._watches[alias]
            with watch.lock:
                failing = watch.lag.failing
            if failing is not None and alias not in lacking:
                sentence = away_sentence(alias, failing)
                told[alias] = {"since_ms": failing.since_ms, "sentence": sentence}
        return told

    def _unknown_cluster(self, alias: str) -> Answer:
        sentence = unknown_name("Kafka cluster", alias, self._watches)
        return refusal("unknown_cluster", sentence, status=404)


def _carried(views: Mapping[str, GroupView], found: list[Listed]) -> dict[str, int]:
    """Return by flow how many of these groups it syncs."""
    told: dict[str, int] = {}
    for alias, view in views.items():
        told |= by_carrier(alias, found, view)
    return told


def _named(watch: ClusterWatch, wanted: str) -> str | None:
    return next((name for _, name in watch.lag.slots.groups() if group_id(name) == wanted), None)


def _kind_of(watch: ClusterWatch, name: str) -> str:
    """Return the kind of a group without offsets; "" if it is not known."""
    return CONSUMER if name in watch.lag.silent_groups() else watch.lag.membership.kinds.get(name, "")


def _not_found(alias: str, lacking: dict[str, Any], kind: str) -> Answer:
    if alias not in lacking:
        why = f" {one_sentence(kind)}" if kind else ""
        return refusal("unknown_group", f"No group of this name has an offset on {alias}.{why}", status=404)
    sentence = f"Groups of {alias} are not read yet."
    return refusal("not_ready", f"{sentence} {lacking[alias]['sentence']}", status=503)


def refusal(code: str, sentence: str, *, status: int) -> Answer:
    """Return an answer with an error; pages show the sentence, the API returns a problem."""
    return Answer({"status": status, "code": code}, [json.dumps({"error": sentence}).encode()])


def form_of(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form of a document of /api/v1: the address of the list and the fields of its items."""
    return {"address": question["address"], "fields": question.get("fields")}


def _answer(document: object, *, status: int = 200) -> Answer:
    return Answer({"status": status}, [json.dumps(document).encode()])
