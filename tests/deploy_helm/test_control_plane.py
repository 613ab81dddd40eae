"""The chart and the manifests on a control plane of Kubernetes, in a namespace that admits restricted pods only."""

from __future__ import annotations

import pytest

from deploy.local.waiting import wait_until
from tests.deploy_helm.chart import CHART, run
from tests.deploy_helm.control_plane import control_plane, custom_resources
from tests.house.product_files import ROOT

pytestmark = [pytest.mark.real, pytest.mark.long]

NAME = "mirrorwatch"
MANIFESTS = ROOT / "deploy" / "kubernetes"
SECURITY = "pod-security.kubernetes.io"
JOBS = {"mirrorwatch-checksum", "mirrorwatch-report"}
WAIT_S = 30.0


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with control_plane(tmp_path_factory.mktemp("kubernetes")) as found:
        for path in custom_resources():
            found.kubectl("apply", "--server-side", "-f", path)
        yield found


@pytest.fixture
def namespace(plane, request):
    name = request.node.name.replace("_", "-")[:40]
    plane.kubectl("create", "namespace", name)
    wait_until(lambda: bool(plane.all("serviceaccount", name)), deadline_s=WAIT_S, what="Its service account")
    labels = [f"{SECURITY}/{mode}=restricted" for mode in ("enforce", "warn")]
    plane.kubectl("label", "namespace", name, *labels)
    return name


class Release:
    """A release of the chart in a namespace."""

    def __init__(self, plane, namespace):
        self.plane, self.namespace = plane, namespace

    def helm(self, *words):
        done = run(*words, "-n", self.namespace, kubeconfig=self.plane.kubeconfig)
        assert done.status == 0, done.errors
        return done.output

    def upgrade(self, *words):
        self.helm("upgrade", "--install", NAME, CHART, "--reset-then-reuse-values", *words)

    def names(self, kind):
        return set(self.plane.all(kind, self.namespace))

    def has_pods(self, *numbers):
        wanted = {f"{NAME}-{number}" for number in numbers}
        wait_until(lambda: self.names("pods") == wanted, deadline_s=WAIT_S, what=f"Exactly {wanted}")


def test_chart(plane, namespace, options):
    release = Release(plane, namespace)
    release.upgrade()
    release.has_pods(0)
    claim = release.plane.all("pvc", namespace)[NAME]["metadata"]["uid"]
    # A claim that exists keeps its class, and its size if it is not bound.
    release.upgrade(*options["everything"], "--set", "volume.storageClass=,volume.size=2Gi")
    release.has_pods(0)
    assert release.names("cronjob") == JOBS
    assert release.names("servicemonitor") == release.names("prometheusrule") == {NAME}
    for job in JOBS:  # its pod is admitted
        plane.kubectl("-n", namespace, "create", "job", f"--from=cronjob/{job}", f"try-{job}")
        wait_until(
            lambda: any(name.startswith(f"try-{job}") for name in release.names("pods")),  # noqa: B023
            deadline_s=WAIT_S,
            what=f"A pod of {job}",
        )
        plane.kubectl("-n", namespace, "delete", "job", f"try-{job}")
    release.helm("upgrade", NAME, CHART, *options["postgresql"])
    release.has_pods(0, 1)
    assert release.names("poddisruptionbudget") == {NAME}
    assert not release.names("cronjob")
    release.helm("rollback", NAME, "1")
    release.has_pods(0)
    assert not release.names("poddisruptionbudget")
    release.helm("uninstall", NAME)
    release.has_pods()
    release.upgrade()
    release.has_pods(0)
    assert release.plane.all("pvc", namespace)[NAME]["metadata"]["uid"] == claim  # with what it holds


def test_manifests(plane, namespace):
    for folder in (MANIFESTS, MANIFESTS / "checksum", MANIFESTS / "report"):
        plane.kubectl("-n", namespace, "apply", "-f", folder)
    wait_until(lambda: len(plane.all("pods", namespace)) == 1, deadline_s=WAIT_S, what="The pod")
    assert set(plane.all("cronjob", namespace)) == JOBS
