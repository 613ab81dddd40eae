"""The chart, Helm built from its source, and the chart rendered by it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import yaml

from deploy.local.jars import cache
from tests.deploy_helm.from_source import built, go
from tests.house.product_files import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CHART = ROOT / "deploy" / "helm" / "mirrorwatch"
EXAMPLES = CHART / "examples"
POSTGRESQL = ("-f", EXAMPLES / "postgresql.yaml")
EVERYTHING = ("-f", EXAMPLES / "everything.yaml")
JOBS = ("--set", "checksum.enabled=true,report.enabled=true,report.existingClaim=reports")
HELM_VERSION = "3.22.0"
# A Helm that `go install` builds takes another version of Kubernetes for granted than a released one.
KUBERNETES_VERSION = "1.33.0"
RELEASE = "mw"
RUN_TIMEOUT_S = 60.0


def helm() -> Path:
    """Return Helm from the cache; build it if it is missing, which takes minutes."""
    package = f"helm.sh/helm/v3/cmd/helm@v{HELM_VERSION}"
    return built(f"helm-{HELM_VERSION}", lambda to: go("install", package, folder=to, GOBIN=str(to))) / "helm"


class Ran(NamedTuple):
    """What a command of Helm printed, and its exit status."""

    status: int
    output: str
    errors: str


def run(*words: str | Path, kubeconfig: Path | str = "") -> Ran:
    """Run Helm without a configuration of its own."""
    away = str(cache() / "tools" / "no-helm-home")
    done = subprocess.run(
        [helm(), *words],
        env={
            **os.environ,
            "HELM_CONFIG_HOME": away,
            "HELM_CACHE_HOME": away,
            "HELM_DATA_HOME": away,
            "KUBECONFIG": str(kubeconfig),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_TIMEOUT_S,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def template(*words: str | Path, chart: Path = CHART, release: str = RELEASE) -> Ran:
    """Run `helm template`."""
    return run("template", release, chart, "--kube-version", KUBERNETES_VERSION, *words)


class Objects:
    """The rendered objects of a release."""

    def __init__(self, text: str) -> None:
        self.all = [one for one in yaml.safe_load_all(text) if one is not None]

    def kinds(self) -> list[str]:
        """Return the kinds of the objects, sorted."""
        return sorted(one["kind"] for one in self.all)

    def named(self, kind: str, name: str) -> dict:
        """Return the object of this kind and name."""
        (found,) = [one for one in self.all if (one["kind"], one["metadata"]["name"]) == (kind, name)]
        return found

    def only(self, kind: str) -> dict:
        """Return the only object of a kind."""
        (found,) = [one for one in self.all if one["kind"] == kind]
        return found

    def pods(self) -> dict[str, dict]:
        """Return the pod templates by component: service, checksum, report."""
        found = {}
        for one in self.all:
            if one["kind"] == "StatefulSet":
                found["service"] = one["spec"]["template"]
            elif one["kind"] == "CronJob":
                template = one["spec"]["jobTemplate"]["spec"]["template"]
                found[one["metadata"]["labels"]["app.kubernetes.io/component"]] = template
        return found


def rendered(*words: str | Path, release: str = RELEASE) -> Objects:
    """Return the objects that the chart makes with these options."""
    done = template(*words, release=release)
    assert done.status == 0, done.errors
    return Objects(done.output)
