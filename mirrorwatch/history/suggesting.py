"""Suggests targets of objectives from the store of a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alerts.objectives.objective import ObjectiveKind
from alerts.reports.suggesting import suggestion_of
from alerts.reports.wording import objective_text, share_text
from alerts.rules.rule import promql_duration
from fleet.probe_history import MINUTE_S
from mirrorwatch.history.reporting import flows_of, reading_made
from mirrorwatch.history.tallying import last_final_minute, tallies_of

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
        for flow, wanted in flows_of(config).items():
            tallies = await tallies_of(store, wanted, [span])
            found += [
                suggestion_of(one, each, rates[flow]) for one, each in zip(wanted, tallies, strict=True)
            ]
    lines = [line for one in found for line in _lines(one)]
    complete = all(one.target_ratio is not None or one.objective.kind is ObjectiveKind.LOSS for one in found)
    return "\n".join(("objectives:", *lines, "")), complete


def _lines(one: Suggestion) -> list[str]:
    objective = one.objective
    about = f"  # {objective.flow} {objective_text(objective)}:"
    if one.target_ratio is None and objective.kind is not ObjectiveKind.LOSS:
        return [f"{about} {one.why_none}"]
    entry = [f'flow: "{objective.flow}"', f"kind: {objective.kind}"]
    if one.target_ratio is not None:
        entry.append(f"target: {100 * one.target_ratio:g}")
    if objective.limit_s is not None:
        entry.append(f"limit: {promql_duration(objective.limit_s)}")
    if objective.slice_ratio is not None:
        entry.append(f"good_minutes: {100 * objective.slice_ratio:g}")
    entry.append(f"period: {promql_duration(objective.period_s)}")
    history = f"{one.observed_minutes / 1440:.1f} days observed, {share_text(one.sli_ratio)} good"
    return [f"{about} {one.why_none or history}", f"  - {{{', '.join(entry)}}}"]
