"""Burrow's HTTP API v3, for scripts and dashboards that use it: from a path to a document. Pure.

Paths, answers and words are those of github.com/linkedin/Burrow, core/internal/httpserver (coordinator.go,
kafka.go, structs.go). Differences:

- `/v3/config`, `/v3/admin/loglevel` and `/burrow/admin/ready` are not served and get the answer that Burrow
  gives for unknown paths;
- a path is split before it is decoded, so `%2F` is part of a name; Burrow decodes first and cannot return a
  group with a slash;
- a slash at the end is ignored; Burrow redirects;
- methods other than GET and HEAD are refused on served paths and not found on others, as by Burrow's
  httprouter, which also refuses HEAD.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lagmon.burrow.documents import listed_groups, status_document, topics_document, unknown_group
from lagmon.burrow.paths import Answer, error_document, not_served
from lagmon.groups.rules.words import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lagmon.cluster.state import ClusterLag


@dataclass(frozen=True, slots=True)
class BurrowCluster:
    """A cluster under its name for Burrow's users, with the fields of its detail document."""

    name: str
    lag: ClusterLag
    servers: tuple[str, ...] = ()
    client_id: str = ""
    topic_refresh_s: int = 60
    offset_refresh_s: int = 10
    unread: str = ""  # why its groups are not known yet


def answer(path: str, clusters: Mapping[str, BurrowCluster], *, host: str, url: str, now_ms: int) -> Answer:
    """Answer a GET of this path, percent-encoded and without its query; the caller holds the clusters' locks.

    `clusters` are by name. `url` (the decoded path) and `host` (of this machine) are returned in the answer.
    """
    request = {"url": url, "host": host}
    match [unquote(part) for part in path.rstrip("/").split("/")]:
        case ["", "v3", "kafka"]:
            return _found("cluster list returned", "clusters", sorted(clusters), request)
        case ["", "v3", "kafka", cluster, "consumer", group, ("status" | "lag") as what]:
            asked, everything = clusters.get(cluster), what == "lag"
            return _status(cluster, asked, group, request, now_ms=now_ms, every_partition=everything)
        case ["", "v3", "kafka", cluster]:
            return _cluster(clusters.get(cluster), request)
        case ["", "v3", "kafka", cluster, *rest]:
            return _about(clusters.get(cluster), rest, request, now_ms)
        case _:
            return not_served()


def _about(asked: BurrowCluster | None, rest: list[str], request: dict[str, str], now_ms: int) -> Answer:
    """Answer a path below the cluster's name, except statuses."""
    match rest:
        case ["topic"]:
            return _topics(asked, request)
        case ["topic", topic]:
            return _topic(asked, topic, request)
        case ["topic", topic, "consumers"]:
            return _consumers(asked, "consumers of topic returned", request, now_ms, topic)
        case ["consumer"]:
            return _consumers(asked, "consumer list returned", request, now_ms)
        case ["consumer", group]:
            return _consumer(asked, group, request, now_ms)
    return not_served()


def _cluster(asked: BurrowCluster | None, request: dict[str, str]) -> Answer:
    if asked is None:
        return _missing("cluster module not found", request)
    return _found("cluster module detail returned", "module", _module(asked), request)


def _topics(asked: BurrowCluster | None, request: dict[str, str]) -> Answer:
    if asked is None:
        return _missing("cluster not found", request)
    if _is_unlisted(asked):
        return _not_yet(asked, "topics", request)
    return _found("topic list returned", "topics", sorted(asked.lag.topics), request)


def _consumers(
    asked: BurrowCluster | None,
    message: str,
    request: dict[str, str],
    now_ms: int,
    topic: str | None = None,
) -> Answer:
    """Answer with groups; an unknown topic has none and is no error."""
    if asked is None:
        return _missing("cluster not found", request)
    if asked.unread:
        return _not_yet(asked, "groups", request)
    return _found(message, "consumers", listed_groups(asked.lag, now_ms=now_ms, topic=topic), request)


def _status(
    cluster: str,
    asked: BurrowCluster | None,
    group: str,
    request: dict[str, str],
    *,
    now_ms: int,
    every_partition: bool,
) -> Answer:
    """Answer with a status in any case: an unknown group or cluster is NOTFOUND, not an error."""
    if asked is None:
        document = unknown_group(cluster, group)
    elif asked.unread:
        return _not_yet(asked, "groups", request)
    else:
        document = status_document(asked.lag, cluster, group, now_ms=now_ms, every_partition=every_partition)
    found = _found("consumer status returned", "status", document, request)
    if document["status"] == Status.NOTFOUND.name:
        return HTTPStatus.NOT_FOUND, found[1]
    return found


def _consumer(asked: BurrowCluster | None, group: str, request: dict[str, str], now_ms: int) -> Answer:
    if asked is not None and asked.unread:
        return _not_yet(asked, "groups", request)
    topics = topics_document(asked.lag, group, now_ms=now_ms) if asked is not None else None
    if topics is None:
        return _missing("cluster or consumer not found", request)
    return _found("consumer detail returned", "topics", topics, request)


def _topic(asked: BurrowCluster | None, topic: str, request: dict[str, str]) -> Answer:
    """Answer with the log end offsets of a topic by partition, -1 if never read."""
    if asked is not None and _is_unlisted(asked):
        return _not_yet(asked, "topics", request)
    count = asked.lag.topics.get(topic) if asked is not None else None
    if asked is None or count is None:
        return _missing("cluster or topic not found", request)
    places = asked.lag.places.of(topic)[:count]
    return _found("topic offsets returned", "offsets", asked.lag.heads.end[places].tolist(), request)


def _module(cluster: BurrowCluster) -> dict[str, Any]:
    """Return the fields of Burrow's cluster configuration that exist here."""
    profile = {"name": "", "client-id": cluster.client_id, "kafka-version": "", "tls": None, "sasl": None}
    return {
        "class-name": "kafka",
        "servers": list(cluster.servers),
        "client-profile": profile,
        "topic-refresh": cluster.topic_refresh_s,
        "offset-refresh": cluster.offset_refresh_s,
    }


def _is_unlisted(cluster: BurrowCluster) -> bool:
    return bool(cluster.unread) and not cluster.lag.listed


def _found(message: str, key: str, content: object, request: dict[str, str]) -> Answer:
    return HTTPStatus.OK, {"error": False, "message": message, key: content, "request": request}


def _not_yet(cluster: BurrowCluster, what: str, request: dict[str, str]) -> Answer:
    """Answer that groups or topics are not read yet: an empty list would mean that there are none."""
    message = f"the {what} of {cluster.name} are not read yet: {cluster.unread}"
    return HTTPStatus.SERVICE_UNAVAILABLE, error_document(message, request)


def _missing(message: str, request: dict[str, str]) -> Answer:
    return HTTPStatus.NOT_FOUND, error_document(message, request)
