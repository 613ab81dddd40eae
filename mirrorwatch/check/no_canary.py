"""Flows without a canary and the remedy: the first lines of `check`. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from canary.config import CanaryMode
from mirrorwatch.check.sheet import FIRST, rest
from mirrorwatch.configuration.flow_canaries import fix_of, topics_line
from mirrorwatch.web.texts import counted

if TYPE_CHECKING:
    from mirrorwatch.configuration.configuration import Configuration


@dataclass(frozen=True, slots=True)
class NoCanary:
    """A flow without probes.

    `deliberate`: the operator turned the canary off. `line` is the configuration line that adds the canary,
    `fix` a remedy as half a sentence; both may be empty.
    """

    flow: str
    why: str
    deliberate: bool
    line: str = ""
    fix: str = ""


def without_canary(config: Configuration) -> tuple[NoCanary, ...]:
    """Return the flows without a canary, in the configuration's order."""
    if config.canary.mode is CanaryMode.OFF:
        return tuple(NoCanary(flow.name, flow.off, deliberate=True) for flow in config.canary_flows)
    topic = config.canary.topic
    return tuple(
        NoCanary(
            flow.name,
            flow.off.removesuffix("."),
            deliberate=False,
            line=topics_line(config.topology.flow(flow.name), topic),
            fix=fix_of(config.topology.flow(flow.name), topic),
        )
        for flow in config.canary_flows
        if flow.off
    )


def first_lines(config: Configuration, missing: tuple[NoCanary, ...]) -> list[str]:
    """Return what `check` prints first; nothing if every flow has a canary."""
    if not missing:
        return []
    if missing[0].deliberate:
        return [f"no canary, as configured: canary.mode is off in {config.path.name}"]
    if len(missing) == 1:
        return [_line(missing[0])]
    names = ", ".join(one.flow for one in missing[:FIRST]) + rest(missing, joined=True)
    head = f"no canary on {len(missing):,} of {counted(len(config.canary_flows), 'flow')}: {names}"
    more = rest(missing)
    return [head, *(_line(one) for one in missing[:FIRST]), *([more] if more else [])]


def _line(one: NoCanary) -> str:
    return f"{one.flow}: no canary: {one.why}" + (f"; {one.fix}" if one.fix else "")
