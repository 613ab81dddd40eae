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

_EVERY_INTERFACE = ("0.0.0.0", "::")  # noqa: S104 - compared, not listened on
_PASSWORD_FILE = "/etc/prometheus/mirrorwatch-password"  # noqa: S105 - a path
_BY = "Written by `mirrorwatch render`; change the configuration and render again."


def render(
    config: Configuration, folder: Path, *, kubernetes: bool, divisor: float = 1.0
) -> tuple[list[str], list[str]]:
    """Write the files; return changed paths and warnings about addresses and objectives.

    All times of rules, routes and scrapes are divided by `divisor`.

    Raises ConfigurationError if there is nothing to render, files are in the way, or none can be written.
    """
    objectives = config.objectives_to("render")
    changed = write_owned(folder, files_of(config, kubernetes=kubernetes, divisor=divisor))
    rates = {one.name: one.probes_per_s for one in config.flow_facts}
    advice = [rate_advice(one, rates[one.flow]) for one in objectives]
    return changed, [one for one in (_address_advice(config), *advice) if one is not None]


def files_of(config: Configuration, *, kubernetes: bool, divisor: float = 1.0) -> dict[str, str]:
    """Return the text of each file by path.

    With a divisor there are no rule tests: they are written for the normal times.
    """
    groups = groups_of(config) if divisor == 1 else compressed(groups_of(config), divisor)
    found = [rule for group in groups for rule in group.rules if isinstance(rule, Alert)]
    rules = rules_document(groups, links_of(config))
    files = {
        "prometheus/mirrorwatch.rules.yml": rules,
        "alertmanager/alertmanager.yml": alertmanager_document(found, divisor=divisor),
        "grafana/provisioning/dashboards/mirrorwatch.yml": _provider(),
    }
    if divisor == 1:
        cases = cases_of(config.objectives, config.flow_facts, audits_failover=config.audits_failover)
        tests = cases_document(list(cases), groups, "mirrorwatch.rules.yml")
        files["prometheus/mirrorwatch.rules.test.yml"] = tests
    if kubernetes:
        files["kubernetes/prometheusrule.yaml"] = _resource(rules)
    texts = {path: yaml_text(document, comment=_BY) for path, document in files.items()}
    texts["prometheus/scrape.yml"] = _scrape(config, STEP_S / divisor)
    return texts | {
        f"grafana/dashboards/{board.uid}.json": _dashboard(board, links_of(config).service)
        for board in BOARDS
    }


def _dashboard(board: Board, service: str) -> str:
    return json.dumps(dashboard(board, job=JOB, service=service), indent=1) + "\n"


def groups_of(config: Configuration) -> tuple[Group, ...]:
    """Return all rules for the flows of a configuration."""
    return all_groups(config.objectives, config.flow_facts, audits_failover=config.audits_failover)


def links_of(config: Configuration) -> Links:
    """Return the addresses that alerts link to."""
    service = config.http.external_url or f"{_scheme(config)}://{config.http.address}"
    return Links(service=service, runbooks=config.links.runbooks, grafana=config.links.grafana)


def _scheme(config: Configuration) -> str:
    return "http" if config.web_config.tls_settings is None else "https"


def _address_advice(config: Configuration) -> str | None:
    """Return a warning if links would lead to an address that is none."""
    if config.http.external_url is not None or config.http.address.host not in _EVERY_INTERFACE:
        return None
    return (
        f"http.external_url: missing; links of alerts and dashboards lead to {config.http.address}, set it to"
        " the address at which people open the pages"
    )


def _scrape(config: Configuration, interval_s: float) -> str:
    job: dict[str, Any] = {"job_name": JOB, "scrape_interval": promql_duration(interval_s)}
    comment = _BY
    if config.web_config.tls_settings is not None:
        job["scheme"] = "https"
        comment += (
            "\nAdd a tls_config if Prometheus does not know the CA, or if a client certificate is required."
        )
    if config.web_config.users:
        job["basic_auth"] = {"username": min(config.web_config.users), "password_file": _PASSWORD_FILE}
        comment += f"\nWrite the password of the user to {_PASSWORD_FILE}, or name another file."
    if config.http.address.host in _EVERY_INTERFACE:
        comment += "\nReplace the target by the address at which Prometheus reaches the service."
    if config.store.group:
        comment += "\nAdd the address of every replica of the group as a target."
    job["static_configs"] = [{"targets": [str(config.http.address)]}]
    return yaml_text({"scrape_configs": [job]}, comment=comment)


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
