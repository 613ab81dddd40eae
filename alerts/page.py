"""Write the reference of alerts from the rules: `python -m alerts.page > docs/reference/alerts.md`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from alerts.objectives import BURN_WINDOWS, FlowFacts, Objective, ObjectiveKind, defaults_of
from alerts.objectives.objective import DEFAULT_PERIOD_S
from alerts.routing import inhibition_table
from alerts.rules import Alert, all_groups
from alerts.rules.rule import promql_duration
from fleet.quantity import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from alerts.objectives import BurnWindow

TIMES = Path(__file__).parents[1] / "docs" / "reference" / "alert-times.json"
_ABOUT = {
    ObjectiveKind.AVAILABILITY: "canary records that arrive before the horizon, of all that were concluded",
    ObjectiveKind.FRESHNESS: "canary records that arrive within the threshold, of all that were settled",
    ObjectiveKind.REPLICATION_LAG: "time with the lag of the worst topic within the limit",
    ObjectiveKind.RECOVERY_POINT: "time with the recovery point age within the limit",
    ObjectiveKind.AUDIT_AGE: "time with the last complete checksum of every topic within the limit",
    ObjectiveKind.LOSS: "no canary record is lost; every single loss pages",
}
_INTRODUCTION = """\
# Alerts and dashboards

`mirrorwatch render CONFIG DIR` writes everything that Prometheus, Alertmanager and Grafana need for the flows
of your configuration. The Debian package and the image have all that it needs. With pip, install
`requirements-render.txt` of the [release](../how-to/install.md#pip).

```sh
mirrorwatch render mirrorwatch.yaml monitoring
promtool test rules monitoring/prometheus/mirrorwatch.rules.test.yml
```

| file | what to do with it |
|---|---|
| `prometheus/mirrorwatch.rules.yml` | name it under `rule_files` |
| `prometheus/mirrorwatch.rules.test.yml` | run it in CI: it plays faults of your flows and lists what fires |
| `prometheus/scrape.yml` | add it to `scrape_configs` |
| `alertmanager/alertmanager.yml` | put its `routes` before yours; add its `inhibit_rules` and `receivers` |
| `grafana/provisioning/dashboards/` | put its file into `/etc/grafana/provisioning/dashboards` |
| `grafana/dashboards/` | mount it at `/var/lib/grafana/dashboards/mirrorwatch`; for Grafana 10 or later |
| `kubernetes/prometheusrule.yaml` | with `--format kubernetes`: the rules for the Prometheus operator |

Add addresses to the receivers. The route takes the alerts of Mirrorwatch and no others.

DIR must be empty, or written by an earlier `render`. `render` never overwrites a file that it did not write,
or that you changed since. Render again after each change of the configuration.

`--divide-times 15` is for trials: all windows, waits and intervals of rules, routes and scrapes are a
fifteenth. Limits and thresholds stay. `make demo` loads such rules into its Prometheus.

## Objectives

A flow has these objectives unless the section [`objectives`](configuration.md) lists others. A flow without a
canary has `replication_lag` alone.
"""

_MEASURED = """
'Fired after' counts from the order to begin the fault of that [drill](drills.md) until Prometheus showed the
alert as firing: the slowest of the drills that were measured, with a scrape each 15 s and a canary threshold
of 5 s. `make drills ARGS="--alert-times docs/reference/alert-times.json NAME ..."` measures them.
Alertmanager waits another 15 s before it notifies.
"""

_SEVERITIES = """\
`critical` pages, `warning` is a ticket, `info` only mutes others. Each alert links to its
[runbook](../../alerts/runbooks). `1m of 4m`: for a minute in all of the last four.
"""


def page() -> str:
    """Return the page."""
    objectives = defaults_of("A->B", "A", "B", has_canary=True)
    return "\n".join(
        (
            _INTRODUCTION,
            *_table(("objective", "what is good", "target", "limit"), _objectives(objectives)),
            "\nThe period is 28 days. A budget is the share that may be bad over the period.\n",
            *_table(
                ("window", "and also over", "alerts when spent at", "severity"),
                (
                    (
                        promql_duration(window.long_s),
                        promql_duration(window.short_s),
                        _rate(window),
                        window.severity,
                    )
                    for window in BURN_WINDOWS
                ),
            ),
            "\nA burn needs at least three bad canary records, or 150 s of bad time, in its long window.",
            "\nWhile Connect reports the mirror as paused, no burn of `availability`, `freshness` or",
            "`replication_lag` pages. Tickets stay.\n",
            "## Alerts\n",
            _SEVERITIES,
            *_table(("alert", "severity", "for", "fired after", "what is wrong"), _alerts(objectives)),
            _MEASURED,
            "\n## What mutes what\n",
            "Alerts about lost or altered records and about the recovery point are never muted.\n",
            *_table(("while this fires", "these are muted", "with the same", "because"), inhibition_table()),
            "",
        )
    )


def _rate(window: BurnWindow) -> str:
    times = f"{window.factor(DEFAULT_PERIOD_S):.4g} times the even rate"
    return f"{times} ({100 * window.budget_share:g} % of the budget in the window)"


def _objectives(defaults: Sequence[Objective]) -> Iterator[tuple[str, ...]]:
    targets = {one.kind: one.target_ratio for one in defaults}
    for kind in ObjectiveKind:
        ratio = targets.get(kind)
        target = "not by default" if ratio is None else "all" if ratio == 1 else f"{100 * ratio:g} %"
        limit = "" if kind.default_limit_s is None else duration_text(kind.default_limit_s)
        yield f"`{kind}`", _ABOUT[kind], target, limit


def _alerts(objectives: Sequence[Objective]) -> Iterator[tuple[str, ...]]:
    overdue = Objective(
        flow="A->B",
        source="A",
        target="B",
        kind=ObjectiveKind.AUDIT_AGE,
        target_ratio=0.99,
        limit_s=ObjectiveKind.AUDIT_AGE.default_limit_s,
    )
    every = (*objectives, overdue)
    times = json.loads(TIMES.read_text(encoding="utf-8"))
    for group in all_groups(every, [FlowFacts("A->B", "A", "B", has_canary=True, exactly_once=True)]):
        for rule in group.rules:
            if isinstance(rule, Alert):
                name = " ".join((f"`{rule.name}`", *(f"{key}={value}" for key, value in rule.labels.items())))
                summary = re.sub(r"\{\{ \$labels\.(\w+) \}\}", r"*\1*", rule.summary)
                yield name, rule.severity, _for(rule), _fired_after(rule, times), summary


def _for(rule: Alert) -> str:
    whole = promql_duration(rule.for_s)
    return f"{whole} of {promql_duration(rule.within_s)}" if rule.within_s else whole


def _fired_after(rule: Alert, times: Mapping[str, Mapping[str, float | str]]) -> str:
    measured = times.get(rule.name)
    if measured is None or rule.severity != measured["severity"]:
        return ""
    return f"{measured['seconds']:.0f} s (`{measured['drill']}`)"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


if __name__ == "__main__":
    sys.stdout.write(page())
