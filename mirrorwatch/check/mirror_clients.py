"""What a MirrorClient answers about each cluster, for `check`: upstream clusters and remote topics. Pure.

A client has one replication policy. Mirrorwatch takes those of the flows into the cluster, or those of the
flows out of it if there are none. With the identity policy the client reports remote topics only if its
configuration has `source.cluster.alias`: it is assumed to be the flow's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fleet.mm2.mirror_client import view_of
from fleet.mm2.replication import PolicyKind
from mirrorwatch.check.sheet import FIRST, rest
from mirrorwatch.web.texts import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.mm2.mirror_client import MirrorClientView
    from fleet.topology import Topology


def mirror_clients(topology: Topology, alias: str, topics: Sequence[str]) -> tuple[MirrorClientView, ...]:
    """Return the answers about a cluster with these topics for each policy; none without a flow."""
    used = {(flow.policy, flow.mirror_version): None for flow in topology.into(alias)}
    if not used:
        used = {
            (replace(flow.policy, source_alias=None), flow.mirror_version): None
            for flow in topology.out_of(alias)
        }
    return tuple(view_of(topics, policy, version) for policy, version in used)


def client_texts(topology: Topology, alias: str, topics: Sequence[str]) -> list[str]:
    """Return the answers of each client in a line; none for a cluster where MirrorMaker left no topic."""
    views = mirror_clients(topology, alias, topics)
    is_target = bool(topology.into(alias))
    return [
        _text(view, only=len(views) == 1)
        for view in views
        if is_target or view.heartbeat_topics or view.checkpoint_topics or view.remote_by_source
    ]


def client_document(topology: Topology, alias: str, view: MirrorClientView) -> dict[str, Any]:
    """Return the answers for the JSON document."""
    policy = view.policy
    sources = {flow.named_source for flow in topology.into(alias)} | view.hops.keys()
    return {
        "policy": policy.kind.value,
        "separator": policy.separator,
        "source_alias": policy.source_alias,
        "upstream_clusters": [{"alias": upstream, "hops": hops} for upstream, hops in _by_hops(view)],
        "heartbeat_topics": list(view.heartbeat_topics),
        "checkpoint_topics": list(view.checkpoint_topics),
        "remote_topics": [
            {"source": source, "topics": list(topics)} for source, topics in view.remote_by_source.items()
        ],
        "depends_on_version": list(view.internal_in_3x),
        "offset_translation": [
            {
                "source": source,
                "topic": policy.checkpoints_topic(source),
                "exists": view.has_checkpoints_of(source),
            }
            for source in sorted(sources)
        ],
    }


def _text(view: MirrorClientView, *, only: bool) -> str:
    """Return the answers in one line; `only` false names the policy, as there are others."""
    upstream = [f"{alias or chr(39) * 2} ({counted(hops, 'hop')})" for alias, hops in _by_hops(view)]
    first = ", ".join(upstream[:FIRST]) + rest(upstream, joined=True) if upstream else "none"
    remote, unsure = len(view.remote_topics), len(view.internal_in_3x)
    many = f"{remote - unsure:,} (3.x) or {remote:,} (4.x)" if unsure else f"{remote:,}"
    return (
        f"MirrorClient{_label(view, only=only)}: upstream {first}; topics: {many} remote,"
        f" {len(view.heartbeat_topics):,} heartbeat, {len(view.checkpoint_topics):,} checkpoint"
    )


def _by_hops(view: MirrorClientView) -> list[tuple[str, int]]:
    return [(alias, view.hops[alias]) for alias in view.upstream_clusters]


def _label(view: MirrorClientView, *, only: bool) -> str:
    policy = view.policy
    if policy.kind is PolicyKind.IDENTITY and policy.source_alias is not None:
        return f" with source.cluster.alias={policy.source_alias}"
    return "" if only else f" with the {policy.kind.value} policy and separator '{policy.separator}'"
