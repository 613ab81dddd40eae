"""The JSON document of `check --json`. Pure.

docs/reference/check-json.md describes it. Lists are complete here: only the text is shortened. The caller
redacts secrets.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from canary.config import CanaryMode
from canary.site.control import TOPIC as CONTROL_TOPIC
from canary.site.record_sizes import probe_bytes
from fleet.mm2.replication import NEWEST_KNOWN, OLDEST_KNOWN
from mirrorwatch.check.configured import principal_of
from mirrorwatch.check.cost import control_bytes_per_day, control_kept_bytes
from mirrorwatch.check.cost_text import canary_costs, missing_topics
from mirrorwatch.check.hops import cluster_costs, hops, link_costs
from mirrorwatch.check.mirror_clients import client_document, mirror_clients
from mirrorwatch.check.mirrored import sort_out
from mirrorwatch.check.no_canary import without_canary
from mirrorwatch.check.permissions import acl_command
from mirrorwatch.check.permissions_text import PARTS, all_optional_permissions, needed_permissions
from mirrorwatch.check.topics import unchecked, unreached

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from canary.flows import CanaryFlow
    from canary.site.topic_advice import Advice
    from fleet.connect.connectors import Connector
    from fleet.errors import Problem
    from fleet.verdicts.flow import Flow
    from mirrorwatch.check.clusters import ClusterCheck
    from mirrorwatch.check.permissions import Permission
    from mirrorwatch.configuration.configuration import Configuration

FORMAT = 1
RESULTS = {0: "ok", 1: "finding", 2: "bad_configuration", 3: "incomplete", 4: "unavailable"}


def refused_document(path: str, problems: Iterable[Problem], *, status: int) -> dict[str, Any]:
    """Return the document of an invalid configuration: only its problems."""
    return {**_head(path, status, ()), "problems": _problems(problems), "warnings": []}


def checked_document(
    config: Configuration,
    results: Mapping[str, ClusterCheck],
    *,
    status: int,
    sentences: Sequence[str],
    advice: Sequence[Advice],
    principal: str,
) -> dict[str, Any]:
    """Return the document of a checked configuration; `results` is empty if no cluster was queried."""
    topics = {alias: result.topics for alias, result in results.items() if result.topics is not None}
    head = _head(str(config.path), status, sentences)
    if status == 0 and any(not one.deliberate for one in without_canary(config)):
        head["result"] = "no_canary"
    return {
        **head,
        "mirror_config": None if config.mm2_path is None else str(config.mm2_path),
        "problems": [],
        "warnings": _problems(config.warnings),
        "clusters": [
            _cluster(config, alias, results.get(alias))
            for alias in (cluster.alias for cluster in config.topology.clusters)
        ],
        "connectors": [_connector(one) for one in config.connectors],
        "flows": [_flow(config, flow, results, topics) for flow in config.topology.flows],
        "canary": _canary(config, results),
        "topics_to_fix": [{"sentence": one.sentence, "spoils_canary": one.breaks} for one in advice],
        "topics_to_create": missing_topics(config, results),
        "not_checked": list(unchecked(results)),
        "permissions": _permissions(config, principal),
    }


def _head(path: str, status: int, sentences: Sequence[str]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "config": path,
        "exit_status": status,
        "result": RESULTS[status],
        "sentences": list(sentences),
    }


def _problems(problems: Iterable[Problem]) -> list[dict[str, str]]:
    return [{"file": one.file, "key": one.key, "sentence": one.sentence} for one in problems]


def _cluster(config: Configuration, alias: str, result: ClusterCheck | None) -> dict[str, Any]:
    settings = config.clients.get(alias)
    by_flow = alias in config.topology.touched
    found: dict[str, Any] = {"kafka_cluster": alias, "watched": settings is not None, "has_flows": by_flow}
    if settings is not None:
        client = settings.librdkafka
        found |= {
            "bootstrap_servers": client["bootstrap.servers"],
            "security_protocol": client.get("security.protocol", "plaintext").upper(),
            "principal": principal_of(settings),
        }
    if result is None:
        return found | {"reached": None}
    description = result.description
    return found | {
        "reached": description is not None,
        "id": None if description is None else description.cluster_id,
        "brokers": None if description is None else len(description.brokers),
        "topics": None if result.topics is None else len(result.topics),
        "topics_cut_off": result.cut_off,
        "mirror_client": None if result.topics is None else _mirror_clients(config, alias, result.topics),
        "errors": [str(error) for error in result.errors],
    }


def _mirror_clients(config: Configuration, alias: str, topics: Sequence[str]) -> list[dict[str, Any]]:
    topology = config.topology
    return [client_document(topology, alias, view) for view in mirror_clients(topology, alias, topics)]


def _connector(one: Connector) -> dict[str, Any]:
    return {
        "name": one.name,
        "kind": one.kind or None,
        "flow": one.flow,
        "state": one.state or None,
        "tasks": [task.state for task in one.tasks],
    }


def _flow(
    config: Configuration,
    flow: Flow,
    results: Mapping[str, ClusterCheck],
    topics: Mapping[str, tuple[str, ...]],
) -> dict[str, Any]:
    canary = next(one for one in config.canary_flows if one.name == flow.name)
    return {
        "flow": flow.name,
        "source": flow.source,
        "target": flow.target,
        "mirror_version": flow.mirror_version,
        "policy": flow.policy.kind.value,
        "separator": flow.policy.separator,
        "topics": flow.topic_filter.include,
        "topics_exclude": {
            "3.x": flow.topic_filter.exclude_at(OLDEST_KNOWN),
            "4.x": flow.topic_filter.exclude_at(NEWEST_KNOWN),
        },
        "refresh_topics_interval_seconds": flow.refresh_topics_interval_s,
        "tasks_max": flow.tasks_max,
        "delivery": "exactly_once" if flow.exactly_once else "at_least_once",
        "canary": _flow_canary(config, canary, results),
        "replicated": _replicated(config, flow, topics),
    }


def _flow_canary(
    config: Configuration, flow: CanaryFlow, results: Mapping[str, ClusterCheck]
) -> dict[str, Any]:
    missing = next((one for one in without_canary(config) if one.flow == flow.name), None)
    found: dict[str, Any] = {
        "probed": missing is None,
        "source_topic": flow.source_topic,
        "target_topic": flow.target_topic,
        "threshold_seconds": flow.threshold_s,
    }
    if missing is not None:
        return found | {
            "why_not": missing.why,
            "deliberate": missing.deliberate,
            "line_to_add": missing.line or None,
            "what_to_do": missing.fix or None,
        }
    return found | {
        "brokers_unreached": [
            {"kafka_cluster": one.kafka_cluster, "broker": one.broker_id} for one in unreached(flow, results)
        ]
    }


def _replicated(
    config: Configuration, flow: Flow, topics: Mapping[str, tuple[str, ...]]
) -> dict[str, Any] | None:
    """Return which source topics are mirrored; None if the source did not list them."""
    if flow.source not in topics:
        return None
    found = sort_out(flow, config.topology, topics)
    return {
        "source_topics": found.topics,
        "replicated": [{"source": one, "target": other} for one, other in found.replicated],
        "not_on_target_yet": None if found.absent is None else [remote for _, remote in found.absent],
        "not_replicated": [{"why": why, "topics": list(names)} for why, names in found.filtered],
        "internal": found.own,
        "from_target": found.from_target,
        "never_replicated": [one.sentence for one in found.traps],
        "depends_on_version": [one.sentence for one in found.unsure],
    }


def _canary(config: Configuration, results: Mapping[str, ClusterCheck]) -> dict[str, Any]:
    canary = config.canary
    found: dict[str, Any] = {"mode": canary.mode.value, "topic": canary.topic}
    if canary.mode is CanaryMode.OFF or not config.canary_flows:
        return found
    costs = canary_costs(config, results)
    all_hops = [hop for cost in costs for hop in hops(config.topology, cost.source, canary.topic) or ()]
    return found | {
        "interval_seconds": costs[0].interval_s if costs else canary.interval,
        "probe_bytes": probe_bytes(canary.topic, max((cost.partitions for cost in costs), default=1)),
        "sources": [
            {
                "kafka_cluster": cost.source,
                "partitions": cost.partitions,
                "exists": cost.exists,
                "at_least": cost.at_least,
                "records_per_second": cost.records_per_s,
                "bytes_per_day": cost.bytes_per_day,
                "ways_counted": hops(config.topology, cost.source, canary.topic) is not None,
            }
            for cost in costs
        ],
        "links": [
            {
                "flow": link.link,
                "records_per_second": link.records_per_s,
                "forwarded_records_per_second": link.forwarded_per_s,
                "bytes_per_day": link.bytes_per_day,
            }
            for link in link_costs(costs, all_hops)
        ],
        "written": [
            {
                "kafka_cluster": one.cluster,
                "bytes_per_day": one.bytes_per_day,
                "kept_bytes": one.kept_bytes,
                "most_kept_bytes": one.most_kept_bytes,
            }
            for one in cluster_costs(costs, all_hops)
        ],
        "control": {
            "topic": CONTROL_TOPIC,
            "kafka_clusters": list(config.touched),
            "bytes_per_day": control_bytes_per_day(),
            "kept_bytes": control_kept_bytes(),
        },
    }


def _permissions(config: Configuration, principal: str) -> list[dict[str, Any]]:
    found = []
    for part in PARTS:
        needed = [(permission, "") for permission in needed_permissions(config, part)]
        for required, permissions in ((True, needed), (False, all_optional_permissions(config, part))):
            found += [
                _permission(config, part, permission, principal, required=required, remark=remark)
                for permission, remark in permissions
            ]
    return found


def _permission(
    config: Configuration, part: str, permission: Permission, principal: str, *, required: bool, remark: str
) -> dict[str, Any]:
    bootstrap = config.clients[permission.cluster].librdkafka["bootstrap.servers"]
    lines = acl_command(bootstrap, principal, permission)
    return {
        "part": part,
        "required": required,
        "kafka_cluster": permission.cluster,
        "resource": permission.resource,
        "name": permission.name,
        "pattern": permission.pattern,
        "operations": list(permission.operations),
        "purpose": permission.purpose,
        "remark": remark or None,
        "command": shlex.join(shlex.split("".join(line.removesuffix("\\") for line in lines))),
    }
