"""Sets of values of the chart, with rules and dashboards that `mirrorwatch render` has written."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml

from tests.deploy_helm.chart import CHART, EVERYTHING, JOBS, POSTGRESQL
from tests.house.product_files import ROOT


@pytest.fixture(scope="session")
def monitoring(tmp_path_factory):
    """Give the folder that `mirrorwatch render` writes for the configuration of the chart."""
    folder = tmp_path_factory.mktemp("chart")
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    (folder / "mirrorwatch.yaml").write_text(values["configuration"])
    subprocess.run(
        [sys.executable, "-m", "mirrorwatch", "render", folder / "mirrorwatch.yaml", folder / "monitoring"],
        cwd=ROOT,
        env={"MIRRORWATCH_REPLICA": "mw-mirrorwatch-0"},
        check=True,
        timeout=60,
    )
    return folder / "monitoring"


@pytest.fixture(scope="session")
def options(monitoring):
    """Give the options of each set of values."""
    files = ["--set-file", f"prometheusRule.rules={monitoring}/prometheus/mirrorwatch.rules.yml"]
    for path in sorted((monitoring / "grafana" / "dashboards").glob("*.json")):
        files += ["--set-file", f"dashboards.files.{path.stem}={path}"]
    return {
        "default": [],
        "postgresql": POSTGRESQL,
        "postgresql with jobs": [*POSTGRESQL, *JOBS],
        "everything": [*EVERYTHING, *files],
    }
