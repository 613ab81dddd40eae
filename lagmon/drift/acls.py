"""ACLs on replicated topics: what principals may read on the source and not on the target. Pure.

MirrorSourceConnector (Kafka 3.9.2 and 4.3.0) adds the literal ACLs of the topics that it replicates to the
target, under the target's names. All becomes Read if it is allowed; an allowed Write is left out. MirrorMaker
does not sync prefixed ACLs, and one on `*` becomes one on a topic that does not exist.

So Read, Describe and All of the source are compared. An ACL of the target counts if it covers that of the
source by principal, host, operation and name. A pattern is covered by ACLs on each of its topics as well.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from typing import TYPE_CHECKING

from fleet.topic_acls import ALL, DESCRIBE, EVERY, READ, TopicAcl
from lagmon.drift.differences import Comparison, Difference, Kind, Omission

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.topic_acls import TopicAcls
    from fleet.verdicts.flow import Flow

EXISTS = "exists"
_EVERYONE = "User:*"
_COMPARED = frozenset((READ, DESCRIBE, ALL))
_IMPLY_DESCRIBE = (READ, "Write", "Delete", "Alter")  # of an ACL that allows
_SYNCED = (
    "the mirror adds it on the target: if it stays missing, check the mirror's log, and its permission Alter"
    " on the cluster"
)
_NOT_SYNCED = "the mirror does not sync ACLs on prefixes or on all topics: add it on the target"


def missing_acls(flow: Flow, pairs: Mapping[str, str], source: TopicAcls, target: TopicAcls) -> Comparison:
    """Return which ACLs of the source have none on the target; `pairs` are the replicated topics."""
    if flow.topic_sync.acls_interval_s is None:
        return _omitted("the mirror does not sync them (sync.topic.acls.enabled is false)")
    if unread := "; ".join(one.unread for one in (source, target) if one.unread):
        return _omitted(unread)
    if not (source.has_authorizer and target.has_authorizer):
        return _without_authorizer(flow, source, target)
    held = _Held(target.rules)
    found, compared = [], 0
    for rule in sorted({one for one in source.rules if one.operation in _COMPARED}):
        topics = _topics_of(rule, pairs)
        if not topics:
            continue
        compared += 1
        wanted = _on_target(flow, rule)
        if held.covers(wanted) or (_is_wide(rule) and _covers_each(held, wanted, topics)):
            continue
        found.append(_difference(rule, wanted))
    return Comparison(kind=Kind.ACL, compared=compared, differences=tuple(found))


def _omitted(why: str) -> Comparison:
    return Comparison(kind=Kind.ACL, compared=0, omissions=(Omission(why),))


def _without_authorizer(flow: Flow, source: TopicAcls, target: TopicAcls) -> Comparison:
    if source.has_authorizer == target.has_authorizer:
        return Comparison(kind=Kind.ACL, compared=0, note="neither cluster has an authorizer")
    here, there = (EXISTS if one.has_authorizer else "none" for one in (source, target))
    effect = (
        f"every principal may do everything on {flow.target}"
        if source.has_authorizer
        else f"principals without an ACL are refused on {flow.target}"
    )
    advice = f"{effect}: set authorizer.class.name alike on both clusters"
    return Comparison(
        kind=Kind.ACL,
        compared=0,
        differences=(Difference(Kind.ACL, "", "", "authorizer", here, there, advice),),
    )


def _is_wide(rule: TopicAcl) -> bool:
    return rule.prefixed or rule.name == EVERY


def _topics_of(rule: TopicAcl, pairs: Mapping[str, str]) -> list[str]:
    """Return the names on the target of the replicated topics that an ACL of the source is about."""
    if not _is_wide(rule):
        return [pairs[rule.name]] if rule.name in pairs else []
    prefix = rule.name if rule.prefixed else ""
    return [remote for topic, remote in pairs.items() if topic.startswith(prefix)]


def _on_target(flow: Flow, rule: TopicAcl) -> TopicAcl:
    """Return the ACL that the target needs."""
    operation = READ if rule.allows and rule.operation == ALL else rule.operation
    if rule.name == EVERY and not rule.prefixed:
        prefix = flow.remote_topic("")
        name, prefixed = (prefix, True) if prefix else (EVERY, False)
    else:
        name, prefixed = flow.remote_topic(rule.name), rule.prefixed
    return rule._replace(name=name, prefixed=prefixed, operation=operation)


def _covers_each(held: _Held, wanted: TopicAcl, topics: Iterable[str]) -> bool:
    return all(held.covers(wanted._replace(name=topic, prefixed=False)) for topic in topics)


def _difference(rule: TopicAcl, wanted: TopicAcl) -> Difference:
    host = "" if rule.host == EVERY else f" from {rule.host}"
    return Difference(
        Kind.ACL,
        _pattern(rule),
        _pattern(wanted),
        f"{wanted.operation} for {rule.principal}{host}",
        "allowed" if rule.allows else "denied",
        None,
        _NOT_SYNCED if _is_wide(rule) else _SYNCED,
    )


def _pattern(rule: TopicAcl) -> str:
    return f"{rule.name}*" if rule.prefixed else rule.name


class _Held:
    """The ACLs of a cluster, by all but their names."""

    def __init__(self, rules: Iterable[TopicAcl]) -> None:
        self._names: dict[tuple[bool, str, str, str], set[str]] = defaultdict(set)
        prefixes: dict[tuple[bool, str, str, str], list[str]] = defaultdict(list)
        for rule in rules:
            key = (rule.allows, rule.principal, rule.host, rule.operation)
            if rule.prefixed:
                prefixes[key].append(rule.name)
            else:
                self._names[key].add(rule.name)
        self._prefixes = {key: tuple(found) for key, found in prefixes.items()}

    def covers(self, wanted: TopicAcl) -> bool:
        """Return whether one of them has the effect of this one, or more."""
        implying = _IMPLY_DESCRIBE if wanted.allows and wanted.operation == DESCRIBE else ()
        for principal, host, operation in product(
            dict.fromkeys((wanted.principal, _EVERYONE)),
            dict.fromkeys((wanted.host, EVERY)),
            dict.fromkeys((wanted.operation, ALL, *implying)),
        ):
            key = (wanted.allows, principal, host, operation)
            names = self._names.get(key, ())
            if EVERY in names or (not wanted.prefixed and wanted.name in names):
                return True
            if wanted.name != EVERY and wanted.name.startswith(self._prefixes.get(key, ())):
                return True
        return False
