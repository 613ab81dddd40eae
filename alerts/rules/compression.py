"""Faster rules for demos, tests and drills. Pure.

Divides all times by one number: windows, `for`, `keep_firing_for` and the intervals of groups. Thresholds,
limits in seconds and names (`window="1h"`) stay.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from alerts.rules.rule import Alert, Group, promql_duration, seconds_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alerts.rules.rule import Record

# A string, which stays as it is, or a duration: of a window, of a subquery's step, or of an offset.
_PARTS = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<before>[\[:]|offset )(?P<duration>(?:\d+[a-z]+)+)(?=\W|$)')


def compressed(groups: Iterable[Group], divisor: float) -> tuple[Group, ...]:
    """Return the groups with every time divided by `divisor`."""
    return tuple(
        replace(
            group,
            interval_s=group.interval_s / divisor,
            rules=tuple(_rule(one, divisor) for one in group.rules),
        )
        for group in groups
    )


def compressed_duration(text: str, divisor: float) -> str:
    """Return a duration in PromQL's notation, divided."""
    return promql_duration(seconds_of(text) / divisor)


def _rule(rule: Record | Alert, divisor: float) -> Record | Alert:
    expression = _PARTS.sub(lambda part: _part(part, divisor), rule.expression)
    if isinstance(rule, Alert):
        return replace(rule, expression=expression, for_s=rule.for_s / divisor, keep_s=rule.keep_s / divisor)
    return replace(rule, expression=expression)


def _part(part: re.Match[str], divisor: float) -> str:
    if part["duration"] is None:
        return part[0]
    return part["before"] + compressed_duration(part["duration"], divisor)
