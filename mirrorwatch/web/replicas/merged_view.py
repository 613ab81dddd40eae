"""One view of the views of all shards. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mirrorwatch.service.view import ProblemView
from mirrorwatch.web.replicas.peers import shard_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mirrorwatch.service.view import ClusterView, MissingShard, ServiceView

_BADNESS = {"up": 0, "connecting": 1, "down": 2, "refused": 3}  # states of a cluster


def merged_view(
    own: ServiceView,
    others: Mapping[int, ServiceView],
    missing: Sequence[MissingShard] = (),
    *,
    number: int,
    count: int,
) -> ServiceView:
    """Return the own view, of shard `number` of `count`, with what the others have: flows worst first.

    Each missing shard is a problem.
    """
    views = {number: own, **others}
    flows = {flow.flow: flow for view in reversed(views.values()) for flow in view.flows}
    lacking = (ProblemView(one.shard, one.sentence, one.since_at, own.now_at, 1) for one in missing)
    return replace(
        own,
        flows=tuple(sorted(flows.values(), key=lambda flow: (flow.status.rank, flow.flow))),
        clusters=tuple(_clusters(views, count)),
        problems=(*lacking, *_problems(views, count)),
        missing=tuple(missing),
    )


def _clusters(views: Mapping[int, ServiceView], count: int) -> Iterable[ClusterView]:
    """Yield each cluster once: as those see it that have flows of it, in its worst state."""
    found: dict[str, dict[int, ClusterView]] = {}
    for number, view in views.items():
        for one in view.clusters:
            found.setdefault(one.alias, {})[number] = one
    for seen in found.values():
        probing = {number: one for number, one in seen.items() if one.flows_from or one.flows_to} or seen
        number = max(probing, key=lambda each: _BADNESS.get(probing[each].state, 1))
        worst = probing[number]
        differ = len({one.state for one in probing.values()}) > 1
        yield replace(
            worst,
            sentence=f"{shard_text(number, count)}: {worst.sentence}" if differ else worst.sentence,
            flows_from=tuple(sorted({name for one in seen.values() for name in one.flows_from})),
            flows_to=tuple(sorted({name for one in seen.values() for name in one.flows_to})),
        )


def _problems(views: Mapping[int, ServiceView], count: int) -> Iterable[ProblemView]:
    """Yield each problem once, with its shards unless all have it."""
    found: dict[tuple[str, str], dict[int, ProblemView]] = {}
    for number, view in views.items():
        for one in view.problems:
            found.setdefault((one.where, one.sentence), {})[number] = one
    for (where, sentence), seen in found.items():
        names = ", ".join(shard_text(number, count) for number in sorted(seen))
        yield ProblemView(
            where=where if len(seen) == len(views) else f"{where} ({names})",
            sentence=sentence,
            since_at=min(one.since_at for one in seen.values()),
            last_at=max(one.last_at for one in seen.values()),
            times=sum(one.times for one in seen.values()),
        )
