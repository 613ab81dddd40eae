"""Suggests targets of objectives from the store of a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alerts.minutes.tables import exclusions
from alerts.objectives.objective import ObjectiveKind
from alerts.reports.suggesting import suggestion_of
from alerts.reports.wording import objective_text, share_text
from alerts.rules.rule import number, promql_duration
from fleet.probe_history import MINUTE_S, without
from mirrorwatch.history.reporting import figures_by_flow, flows_of, reading_made
from mirrorwatch.history.tallying import last_final_minute

if TYPE_CHECKING:
    from alerts.reports.suggesting import Suggestion
    from mirrorwatch.configuration.configuration import Configuration

HISTORY_S = 90 * 86_400.0


async def suggest(config: Configuration, *, now_at: float) -> tuple[str, bool]:
    """Return a section `objectives` with comments, and whether each objective has a suggestion."""
    config.objectives_to("suggest targets for")
    until = last_final_minute(config, now_at)
    span = (until - int(HISTORY_S // MINUTE_S), until)
    rates = {one.name: one.probes_per_s for one in config.flow_facts}
    found: list[Suggestion] = []
    async with reading_made(config) as store:
        excluded = await store.read(exclusions)
        for flow, wanted in flows_of(config).items():
            spans = without(span, [(one.first, one.until) for one in excluded if one.flow == flow])
            figures = await figures_by_flow(store, wanted, spans)
            found += [
                suggestion_of(one, each, rates[flow]) for one, each in zip(wanted, figures, strict=True)
            ]
    lines = [line for one in found for line in _lines(one)]
    complete = all(one.target_ratio is not None or one.objective.kind is ObjectiveKind.LOSS for one in found)
    return "\n".join(("objectives:", *lines, "")), complete


def _lines(one: Suggestion) -> list[str]:
    objective = one.objective
    history = f"{one.observed_minutes / 1440:.1f} days observed, {share_text(one.sli_ratio)} good"
    about = f"{objective.flow} {objective_text(objective)}: {one.why_none or history}"
    entry = [f'flow: "{objective.flow}"', f"kind: {objective.kind}"]
    if objective.kind is not ObjectiveKind.LOSS:
        ratio = one.target_ratio
        if ratio is None:  # without an entry the flow would lose the objective
            ratio = objective.target_ratio
            about += "; the target is the configured one"
        entry.append(f"target: {number(100 * ratio)}")
    if objective.limit_s is not None:
        entry.append(f"limit: {promql_duration(objective.limit_s)}")
    if objective.slice_ratio is not None:
        entry.append(f"good_minutes: {number(100 * objective.slice_ratio)}")
    entry.append(f"period: {promql_duration(objective.period_s)}")
    return [f"  # {about}", f"  - {{{', '.join(entry)}}}"]
