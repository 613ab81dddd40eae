"""A control plane of Kubernetes, built from its source: etcd, API server and controllers, without nodes.

It checks, defaults and admits objects, and its controllers make pods of them. No pod runs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deploy.local.jars import cache
from deploy.local.ports import free_port
from deploy.local.process import Process
from deploy.local.waiting import wait_until
from tests.deploy_helm.from_source import built, go

if TYPE_CHECKING:
    from collections.abc import Iterator

KUBERNETES, STAGED = "1.36.3", "0.36.3"  # modules that are released together, under another number
ETCD = "3.6.16"
OPERATOR = "0.85.0"
PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kubectl")
_TOKEN = "admin-of-a-control-plane-for-tests"
_READY_S, _RUN_S = 90.0, 60.0
_STAGED_MODULE = re.compile(r"^\s*(k8s\.io/\S+) v0\.0\.0\s*(?://.*)?$", re.MULTILINE)
_VERSION = "k8s.io/component-base/version"


def programs() -> Path:
    """Return the folder with the programs from the cache; build them if it is missing (10 minutes)."""
    return built(f"kubernetes-{KUBERNETES}", _build)


def custom_resources() -> list[Path]:
    """Return the files that define what the Prometheus operator adds."""
    module = f"github.com/prometheus-operator/prometheus-operator@v{OPERATOR}"
    folder = Path(json.loads(go("mod", "download", "-json", module, folder=cache()))["Dir"])
    kinds = ("servicemonitors", "prometheusrules")
    named = "example/prometheus-operator-crd/monitoring.coreos.com_{}.yaml"
    return [folder / named.format(kind) for kind in kinds]


def _build(folder: Path) -> None:
    source = f"k8s.io/kubernetes@v{KUBERNETES}"
    described = json.loads(go("mod", "download", "-json", source, folder=folder))
    staged = _STAGED_MODULE.findall(Path(described["GoMod"]).read_text(encoding="utf-8"))
    replaced = "\n".join(f"replace {one} => {one} v{STAGED}" for one in staged)
    (folder / "go.mod").write_text(f"module control\n\nrequire k8s.io/kubernetes v{KUBERNETES}\n{replaced}\n")
    major, minor, _ = KUBERNETES.split(".")
    stamps = {"gitVersion": f"v{KUBERNETES}", "gitMajor": major, "gitMinor": minor}
    flags = "-s -w " + " ".join(f"-X {_VERSION}.{key}={value}" for key, value in stamps.items())
    commands = [f"k8s.io/kubernetes/cmd/{name}" for name in PROGRAMS]
    go("build", "-mod=mod", "-ldflags", flags, "-o", f"{folder}/", *commands, folder=folder)
    module = folder / "etcd-module"
    module.mkdir()
    (module / "go.mod").write_text(f"module store\n\nrequire go.etcd.io/etcd/server/v3 v{ETCD}\n")
    go("build", "-mod=mod", "-o", folder / "etcd", "go.etcd.io/etcd/server/v3", folder=module)


class ControlPlane:
    """A running one; `kubeconfig` is the file of its administrator."""

    def __init__(self, folder: Path) -> None:
        self.kubeconfig = folder / "kubeconfig"
        self._kubectl = programs() / "kubectl"

    def kubectl(self, *words: str | Path) -> str:
        """Run kubectl; return what it printed."""
        done = subprocess.run(
            [self._kubectl, *words],
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
            timeout=_RUN_S,
        )
        assert done.returncode == 0, done.stderr
        assert "Warning" not in done.stderr, done.stderr  # of the admission of pods, and of old versions
        return done.stdout

    def all(self, kind: str, namespace: str) -> dict[str, Any]:
        """Return all objects of a kind, by name."""
        items = json.loads(self.kubectl("-n", namespace, "get", kind, "-o", "json"))["items"]
        return {one["metadata"]["name"]: one for one in items}

    def serves(self) -> bool:
        """Return whether the API server is ready."""
        try:
            return self.kubectl("get", "--raw", "/readyz") == "ok"
        except AssertionError:
            return False


@contextmanager
def control_plane(folder: Path) -> Iterator[ControlPlane]:
    """Run one whose files are in this folder."""
    found, port = programs(), free_port()
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    key = folder / "accounts.key"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True, timeout=60)
    (folder / "tokens.csv").write_text(f'{_TOKEN},admin,admin,"system:masters"\n')
    server = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "one", "cluster": server}],
        "users": [{"name": "admin", "user": {"token": _TOKEN}}],
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": "admin"}}],
        "current-context": "one",
    }
    (folder / "kubeconfig").write_text(json.dumps(document))  # JSON is YAML
    options = {
        "etcd": {
            "data-dir": folder / "etcd",
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
        },
        "kube-apiserver": {
            "etcd-servers": client,
            "cert-dir": folder / "certificates",
            "bind-address": "127.0.0.1",
            "secure-port": port,
            "service-account-key-file": key,
            "service-account-signing-key-file": key,
            "service-account-issuer": "https://kubernetes.default.svc",
            "token-auth-file": folder / "tokens.csv",
            "authorization-mode": "RBAC",
            "service-cluster-ip-range": "10.96.0.0/16",
        },
        "kube-controller-manager": {
            "kubeconfig": folder / "kubeconfig",
            "service-account-private-key-file": key,
            "leader-elect": "false",
            "secure-port": 0,
        },
    }
    plane = ControlPlane(folder)
    with ExitStack() as stack:
        for name, given in options.items():
            words = [f"--{key}={value}" for key, value in given.items()]
            process = Process(name, [str(found / name), *words], folder=folder)
            process.start()
            stack.callback(process.kill)
            if name == "kube-apiserver":
                wait_until(plane.serves, deadline_s=_READY_S, what="A ready API server", every_s=0.5)
        accounts = partial(plane.all, "serviceaccount", "default")
        wait_until(lambda: bool(accounts()), deadline_s=_READY_S, what="The first work of a controller")
        yield plane
