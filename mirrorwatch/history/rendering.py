"""The files that `render` writes: rules, their tests, routes, dashboards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from alerts.objectives import rate_advice
from alerts.routing import alertmanager_document
from alerts.rules import Alert, all_groups, compressed
from alerts.rules.cases import STEP_S, cases_document, cases_of
from alerts.rules.document import Links, rules_document
from alerts.rules.rule import promql_duration
from alerts.rules.watching import JOB
from dashboards import BOARDS, dashboard
from runtime.config.yaml_output import yaml_text
from runtime.files.owned_folder import write_owned

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from alerts.rules import Group
    from dashboards.panel import Board
    from mirrorwatch.configuration.configuration import Configuration

_BY = "Written by `mirrorwatch render`; change the configuration and render again."


def render(
    config: Configuration, folder: Path, *, kubernetes: bool, divisor: float = 1.0
) -> tuple[list[str], list[str]]:
    """Write the files; return changed paths and warnings about objectives.

    All times of rules, routes and scrapes are divided by `divisor`.

    Raises ConfigurationError if there is nothing to render, or files are in the way.
    """
    objectives = config.objectives_to("render")
    changed = write_owned(folder, files_of(config, kubernetes=kubernetes, divisor=divisor))
    rates = {one.name: one.probes_per_s for one in config.flow_facts}
    advice = [rate_advice(one, rates[one.flow]) for one in objectives]
    return changed, [one for one in advice if one is not None]


def files_of(config: Configuration, *, kubernetes: bool, divisor: float = 1.0) -> dict[str, str]:
    """Return the text of each file by path.

    With a divisor there are no rule tests: they are written for the normal times.
    """
    groups = groups_of(config) if divisor == 1 else compressed(groups_of(config), divisor)
    found = [rule for group in groups for rule in group.rules if isinstance(rule, Alert)]
    rules = rules_document(groups, links_of(config))
    files = {
        "prometheus/mirrorwatch.rules.yml": rules,
        "prometheus/scrape.yml": _scrape(config, STEP_S / divisor),
        "alertmanager/alertmanager.yml": alertmanager_document(found, divisor=divisor),
        "grafana/provisioning/dashboards/mirrorwatch.yml": _provider(),
    }
    if divisor == 1:
        tests = cases_document(list(cases_of(config.objectives)), groups, "mirrorwatch.rules.yml")
        files["prometheus/mirrorwatch.rules.test.yml"] = tests
    if kubernetes:
        files["kubernetes/prometheusrule.yaml"] = _resource(rules)
    texts = {path: yaml_text(document, comment=_BY) for path, document in files.items()}
    return texts | {
        f"grafana/dashboards/{board.uid}.json": _dashboard(board, links_of(config).service)
        for board in BOARDS
    }


def _dashboard(board: Board, service: str) -> str:
    return json.dumps(dashboard(board, job=JOB, service=service), indent=1) + "\n"


def groups_of(config: Configuration) -> tuple[Group, ...]:
    """Return all rules for the flows of a configuration."""
    return all_groups(config.objectives, config.flow_facts)


def links_of(config: Configuration) -> Links:
    """Return the addresses that alerts link to."""
    service = config.http.external_url or f"http://{config.http.address}"
    return Links(service=service, runbooks=config.links.runbooks, grafana=config.links.grafana)


def _scrape(config: Configuration, interval_s: float) -> dict[str, Any]:
    return {
        "scrape_configs": [
            {
                "job_name": JOB,
                "scrape_interval": promql_duration(interval_s),
                "static_configs": [{"targets": [str(config.http.address)]}],
            }
        ]
    }


def _provider() -> dict[str, Any]:
    return {
        "apiVersion": 1,
        "providers": [
            {
                "name": "mirrorwatch",
                "folder": "Mirrorwatch",
                "type": "file",
                "allowUiUpdates": False,
                "options": {"path": "/var/lib/grafana/dashboards/mirrorwatch"},
            }
        ],
    }


def _resource(rules: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "mirrorwatch", "labels": {"app.kubernetes.io/name": "mirrorwatch"}},
        "spec": rules,
    }
