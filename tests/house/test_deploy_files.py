"""What can be said of the container, the unit and the manifests without an engine to run them."""

from __future__ import annotations

import asyncio
import http.server
import inspect
import re
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
import tomllib
from contextlib import contextmanager
from itertools import pairwise

import pytest
import yaml

from mirrorwatch.configuration.reading import read_configuration
from runtime.config.sections import HttpConfig
from runtime.config.web import load_web_config
from runtime.http.server import HttpServer, application
from runtime.store.store import Store
from tests.house.containerfile import instructions
from tests.house.kubernetes_shapes import KINDS, manifest_faults
from tests.house.product_files import ROOT
from tests.runtime.certificates import write_pair

DEPLOY = ROOT / "deploy"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
UID = 10001
PORT = HttpConfig().address.port
STATE = "/var/lib/mirrorwatch"
CONFIGURATION = "/etc/mirrorwatch/mirrorwatch.yaml"

# --- the image

IMAGE = instructions((DEPLOY / "container" / "Containerfile").read_text())
LAST = [one for one in IMAGE if one.stage == IMAGE[-1].stage]


def only(word, among=LAST):
    (found,) = [one for one in among if one.word == word]
    return found


def test_every_stage_starts_from_the_named_python():
    assert [one.rest.split()[0] for one in IMAGE if one.word == "FROM"] == ["python:3.11-slim"] * 2
    assert PROJECT["project"]["requires-python"] == ">=3.11"


def test_what_it_runs_is_written_as_lists_and_the_one_exception_is_a_file_name():
    runs = [one for one in IMAGE if one.word == "RUN"]
    shell = [one.rest for one in runs if one.listed is None]
    assert shell == ["/opt/mirrorwatch/bin/pip install --no-cache-dir --no-deps --no-index /wheels/*.whl"]
    assert {one.word for one in IMAGE} <= {
        "ARG",
        "FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK",
        "ENTRYPOINT", "CMD",
    }  # fmt: skip


def test_what_it_installs_from_an_index_is_pinned_with_hashes():
    installs = [
        one.listed for one in IMAGE if one.word == "RUN" and one.listed and one.listed[1] == "install"
    ]
    files = [
        [file for option, file in pairwise(words) if option == "-r"]
        for words in installs
        if words[0].endswith("/pip")
    ]
    extras = [f"requirements/{extra}.txt" for extra in ("msk", "postgresql", "render")]
    assert files == [extras, ["requirements/build.txt"]]
    for words in installs:
        if words[0].endswith("/pip"):
            assert {"--require-hashes", "--only-binary=:all:"} <= set(words)


def test_it_copies_what_exists_and_every_package_of_the_wheel():
    sources = [
        source.rstrip("/")
        for one in IMAGE
        if one.word == "COPY" and "--from=" not in one.rest
        for source in one.rest.split()[:-1]
    ]
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert set(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) <= set(sources)


def test_it_runs_as_nobody_in_particular_and_writes_in_one_place():
    assert only("USER").rest == f"{UID}:{UID}"
    assert not [one for one in LAST[LAST.index(only("USER")) :] if one.word in {"RUN", "COPY"}]
    assert only("VOLUME").listed == [STATE]
    assert only("WORKDIR").rest == STATE
    assert only("RUN").listed == ["install", "-d", "-m", "0750", "-o", str(UID), "-g", str(UID), STATE]


def test_it_starts_the_command_of_the_wheel_and_tells_its_port():
    assert only("ENTRYPOINT").listed == list(PROJECT["project"]["scripts"])
    assert only("CMD").listed == ["run", CONFIGURATION]
    assert only("EXPOSE").rest == str(PORT)
    assert only("STOPSIGNAL").rest == "SIGTERM"
    assert f"http://127.0.0.1:{PORT}/-/healthy" in only("ENV").rest


def test_its_health_is_asked_by_the_script_that_it_copies():
    asked = only("HEALTHCHECK").listed
    (copied,) = [one.rest.split() for one in LAST if one.word == "COPY" and "--from=" not in one.rest]
    assert asked == ["python", copied[1]]
    assert copied[0] == "deploy/container/healthcheck.py"
    # Podman's own format drops the instruction, with a warning.
    assert "podman build --format docker " in (DEPLOY / "container" / "Containerfile").read_text()


@contextmanager
def answering(status):
    """Serve `status` to every request on a port of this machine; give its address."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/-/healthy"
        server.shutdown()
        thread.join()


def health(url, **environ):
    script = DEPLOY / "container" / "healthcheck.py"
    return subprocess.run(
        [sys.executable, "-I", script],
        env={"MIRRORWATCH_HEALTH_URL": url, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


@pytest.mark.parametrize("status", [200, 401])
def test_a_service_that_answers_is_alive(status):
    with answering(status) as url:
        asked = health(url)
    assert (asked.returncode, asked.stdout, asked.stderr) == (0, "", "")


def test_a_service_that_answers_with_an_error_is_not_well():
    with answering(503) as url:
        asked = health(url)
    assert (asked.returncode, asked.stdout, asked.stderr) == (1, f"{url} answers 503\n", "")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://127.0.0.1:1/-/healthy", "does not answer: [Errno 111] Connection refused"),
        ("file:///etc/passwd", "invalid address 'file:///etc/passwd'; write one with http:// or https://"),
        ("http://127.0.0.1:96x9/", "nonnumeric port: '96x9'"),
    ],
)
def test_a_service_that_cannot_be_asked_is_told_in_a_sentence(url, sentence):
    asked = health(url)
    assert asked.returncode == 1
    assert asked.stdout.strip().endswith(sentence)
    assert asked.stderr == ""


@pytest.mark.parametrize("version", ["TLS12", "TLS13"])
@pytest.mark.parametrize(
    ("mutual", "trusted", "said"),
    [
        ("", "server.crt", "https://URL answers 404\n"),
        ("RequireAndVerifyClientCert", "server.crt", ""),
        ("RequireAndVerifyClientCert", "clients.crt", "certificate verify failed: self-signed certificate"),
    ],
)
async def test_a_service_that_requires_a_certificate_of_its_clients_is_alive(
    tmp_path, version, mutual, trusted, said
):
    write_pair(tmp_path, "server")
    write_pair(tmp_path, "clients")
    more = f", client_ca_file: clients.crt, client_auth_type: {mutual}" if mutual else ""
    (tmp_path / "web.yml").write_text(
        f"tls_server_config: {{cert_file: server.crt, key_file: server.key, max_version: {version}{more}}}\n"
    )
    server = HttpServer()
    await server.start(
        application(), HttpConfig(listen="127.0.0.1:0"), web_config=load_web_config(tmp_path / "web.yml")
    )
    trust = {"SSL_CERT_FILE": str(tmp_path / trusted)}
    asked = await asyncio.to_thread(health, f"{server.url}/-/healthy", **trust)
    await server.stop(0.1)
    assert (asked.returncode, asked.stderr) == (int(bool(said)), "")
    assert said.replace("https://URL", f"{server.url}/-/healthy") in asked.stdout
    assert bool(said) == bool(asked.stdout)


def test_a_service_that_hangs_is_not_alive_whatever_it_would_require():
    """Nobody accepts the connection: the kernel does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"https://127.0.0.1:{server.getsockname()[1]}/-/healthy"
        asked = health(url)
    assert asked.returncode == 1
    assert "timed out" in asked.stdout


def test_what_answers_something_else_is_told_in_a_sentence():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            taken, _ = server.accept()
            taken.recv(4096)
            taken.sendall(b"220 mail.example.org ESMTP\r\n")
            taken.close()

        thread = threading.Thread(target=answer)
        thread.start()
        asked = health(f"http://127.0.0.1:{server.getsockname()[1]}/")
        thread.join()
    assert (asked.returncode, asked.stderr) == (1, "")
    assert "does not answer by HTTP: BadStatusLine" in asked.stdout


# --- the unit

UNIT_FILE = DEPLOY / "systemd" / "mirrorwatch.service"


def unit():
    """Return section by name, each with the list of values that a key is given."""
    sections, keys = {}, {}
    for line in UNIT_FILE.read_text().splitlines():
        if line.startswith("["):
            keys = sections.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            key, value = line.split("=", maxsplit=1)
            keys.setdefault(key, []).append(value)
    return sections


def test_the_unit_runs_the_service_and_stops_on_a_bad_configuration():
    service = unit()["Service"]
    assert service["Type"] == ["exec"]
    assert service["ExecStart"] == [f"/opt/mirrorwatch/bin/mirrorwatch run {CONFIGURATION}"]
    assert service["Restart"] == ["on-failure"]
    assert service["RestartPreventExitStatus"] == ["2"]
    assert service["ExecReload"] == ["/bin/sh -c 'kill -HUP ${MAINPID}'"]
    assert f"/var/lib/{service['StateDirectory'][0]}" == service["WorkingDirectory"][0] == STATE


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("DynamicUser", ["yes"]),
        ("NoNewPrivileges", ["yes"]),
        ("ProtectSystem", ["strict"]),
        ("ProtectHome", ["yes"]),
        ("PrivateTmp", ["yes"]),
        ("PrivateDevices", ["yes"]),
        ("PrivateUsers", ["yes"]),
        ("CapabilityBoundingSet", [""]),
        ("AmbientCapabilities", [""]),
        ("MemoryDenyWriteExecute", ["yes"]),
        ("RestrictAddressFamilies", ["AF_INET AF_INET6 AF_UNIX"]),
        ("SystemCallFilter", ["@system-service", "~@privileged @resources"]),
    ],
)
def test_the_unit_is_hardened(key, values):
    assert unit()["Service"][key] == values


@pytest.mark.real
@pytest.mark.parametrize(
    "question", [["verify"], ["security", "--offline=true", "--threshold=15", "--no-pager"]]
)
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path, question):
    asked = shutil.which("systemd-analyze")
    assert asked, "systemd-analyze is not installed: apt-get install systemd"
    # The program of the unit is not installed here; everything else of it is as it is.
    here = tmp_path / UNIT_FILE.name
    here.write_text(re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={shutil.which('true')}", UNIT_FILE.read_text()))
    said = subprocess.run([asked, *question, here], capture_output=True, text=True, check=False, timeout=60)
    assert said.returncode == 0, said.stdout + said.stderr
    assert said.stderr == ""


def test_the_documented_credentials_are_those_that_the_documented_configuration_reads(tmp_path):
    text = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
    section = text.partition("### Key stores and certificates\n")[2].partition("\n## ")[0]
    configuration, web = (
        textwrap.dedent(block) for block in re.findall(r"```yaml\n(.*?) *```", section, re.DOTALL)
    )
    folder = tmp_path / "credentials"
    folder.mkdir()
    write_pair(folder, "server")
    (folder / "web.yml").write_text(web)
    used = set(re.findall(r"CREDENTIALS_DIRECTORY\}/([\w.]+)", configuration))
    used |= {path.name for path in folder.iterdir()}
    assert used == set(re.findall(r"LoadCredential=([\w.]+):/etc/mirrorwatch/\1\n", section))
    http = {"http": yaml.safe_load(configuration)["http"]}
    flows = {
        "clusters": {name: {"bootstrap.servers": f"{name}:9092"} for name in "AB"},
        "flows": {"A->B": {"topics": "orders"}},
    }
    (tmp_path / "mirrorwatch.yaml").write_text(yaml.safe_dump(flows | http))
    read = read_configuration(tmp_path / "mirrorwatch.yaml", environ={"CREDENTIALS_DIRECTORY": str(folder)})
    assert read.web_config.tls is not None


# --- a command as the service's user

COMMAND_FILE = DEPLOY / "systemd" / "mirrorwatch-as-service"


@pytest.mark.parametrize(
    ("words", "folder"),
    [(["report", CONFIGURATION], "mirrorwatch"), (["checksum", "run", "a b"], "mirrorwatch-checksum")],
)
def test_a_command_runs_as_the_unit_does(tmp_path, words, folder):
    opt = tmp_path / "opt"
    for name in ("mirrorwatch", "mirrorwatch-checksum"):
        program = opt / name / "bin" / "mirrorwatch"
        program.parent.mkdir(parents=True)
        program.write_text("")
        program.chmod(0o755)
    script = tmp_path / "script"
    script.write_text(COMMAND_FILE.read_text().replace("/opt/", f"{opt}/"))
    (tmp_path / "systemd-run").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "systemd-run").chmod(0o755)
    said = subprocess.run(
        ["sh", script, *words],
        env={"PATH": f"{tmp_path}:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    ).stdout.splitlines()
    assert said[-len(words) - 1 :] == [f"{opt}/{folder}/bin/mirrorwatch", *words]
    given = dict(
        one.removeprefix("--property=").split("=", 1) for one in said if one.startswith("--property=")
    )
    assert given.pop("User") == UNIT_FILE.stem
    service = unit()["Service"]
    assert {key: [value] for key, value in given.items()} == {key: service[key] for key in given}
    assert {"DynamicUser", "StateDirectory", "StateDirectoryMode", "EnvironmentFile"} <= given.keys()
    assert COMMAND_FILE.stat().st_mode & 0o111


# --- the manifests

REPORT = DEPLOY / "kubernetes" / "report" / "cronjob.yaml"
MANIFESTS = sorted({*(DEPLOY / "kubernetes").rglob("*.yaml")} - {REPORT})


def loaded(path):
    return list(yaml.safe_load_all(path.read_text()))


def by_kind():
    return {one["kind"]: one for path in MANIFESTS for one in loaded(path)}


@pytest.mark.parametrize("path", [*MANIFESTS, REPORT], ids=lambda path: path.name)
def test_a_manifest_has_the_shape_of_its_kind(path):
    assert [fault for one in loaded(path) for fault in manifest_faults(one)] == []


def test_there_is_one_manifest_of_each_kind():
    kinds = [one["kind"] for path in MANIFESTS for one in loaded(path)]
    assert sorted(kinds) == sorted(kind for _, kind in KINDS)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda pod: pod.update(hostNetwork=True), "hostNetwork is no key of it"),
        (lambda pod: pod["securityContext"].update(runAsNonroot=True), "runAsNonroot is no key of it"),
        (lambda pod: pod["securityContext"].update(runAsUser="10001"), "runAsUser is no int"),
        (lambda pod: pod["containers"][0].pop("image"), "image is not there"),
        (lambda pod: pod["containers"][0].update(args="run"), "args is no list"),
        (lambda pod: pod["containers"][0].update(imagePullPolicy="Sometimes"), "not one of"),
        (lambda pod: pod["containers"][0]["resources"]["requests"].update(cpu=1), "is no map of texts"),
        (
            lambda pod: pod["containers"][0]["livenessProbe"]["httpGet"].update(port=1.5),
            "port is 1.5, not one of",
        ),
        (lambda pod: pod["volumes"][0].update(configMap="mirrorwatch"), "configMap is no object"),
    ],
)
def test_a_manifest_of_another_shape_is_seen(change, fault):
    deployment = by_kind()["Deployment"]
    change(deployment["spec"]["template"]["spec"])
    (found,) = manifest_faults(deployment)
    assert found.startswith("Deployment.spec.template.spec")
    assert fault in found


def test_the_pod_is_one_unprivileged_process_with_a_root_that_it_cannot_write():
    spec = by_kind()["Deployment"]["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"] == {"type": "Recreate"}
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] == UID
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "privileged": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_pod_runs_the_image_as_it_is_built_here():
    (container,) = by_kind()["Deployment"]["spec"]["template"]["spec"]["containers"]
    tag = f"mirrorwatch:{PROJECT['project']['version']}"
    assert container["image"] == tag
    assert f"-t {tag} ." in (DEPLOY / "container" / "Containerfile").read_text()
    assert container["args"] == only("CMD").listed
    assert [(port["name"], port["containerPort"]) for port in container["ports"]] == [("http", PORT)]
    assert container["readinessProbe"]["httpGet"] == {"path": "/-/ready", "port": "http"}
    assert container["livenessProbe"]["httpGet"] == {"path": "/-/healthy", "port": "http"}
    assert container["startupProbe"]["httpGet"] == {"path": "/-/healthy", "port": "http"}


def test_a_start_may_take_as_long_as_a_migration_of_the_store():
    (container,) = by_kind()["Deployment"]["spec"]["template"]["spec"]["containers"]
    probe = container["startupProbe"]
    limit_s = inspect.signature(Store).parameters["migration_limit_s"].default
    assert probe["periodSeconds"] * probe["failureThreshold"] > limit_s


def test_the_manifests_name_each_other_rightly():
    kinds = by_kind()
    template = kinds["Deployment"]["spec"]["template"]
    pod, labels = template["spec"], template["metadata"]["labels"]
    assert kinds["Deployment"]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert kinds["Service"]["spec"]["selector"].items() <= labels.items()
    assert kinds["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    assert [port["targetPort"] for port in kinds["Service"]["spec"]["ports"]] == ["http"]
    volumes = {one["name"]: one for one in pod["volumes"]}
    assert volumes["configuration"]["configMap"]["name"] == kinds["ConfigMap"]["metadata"]["name"]
    assert (
        volumes["store"]["persistentVolumeClaim"]["claimName"]
        == kinds["PersistentVolumeClaim"]["metadata"]["name"]
    )
    mounts = {one["name"]: one["mountPath"] for one in pod["containers"][0]["volumeMounts"]}
    assert mounts == {
        "configuration": CONFIGURATION.rsplit("/", maxsplit=1)[0],
        "store": STATE,
        "tmp": "/tmp",  # noqa: S108 - a path in the pod
    }


def test_every_secret_that_the_configuration_names_is_given_from_a_secret():
    files = by_kind()["ConfigMap"]["data"]
    named = set(re.findall(r"\$\{env:(\w+)\}", "".join(files.values())))
    (container,) = by_kind()["Deployment"]["spec"]["template"]["spec"]["containers"]
    given = {one["name"]: one for one in container["env"]}
    assert named == set(given)
    assert all(set(one) == {"name", "valueFrom"} for one in given.values())
    assert 'password="${env:' in files["mm2.properties"]


def test_the_configuration_of_the_manifests_is_one_that_the_service_takes(tmp_path):
    for name, text in by_kind()["ConfigMap"]["data"].items():
        (tmp_path / name).write_text(text)
    secrets = {"A_PASSWORD": "one", "B_PASSWORD": "two"}
    read = read_configuration(tmp_path / CONFIGURATION.rsplit("/", maxsplit=1)[1], environ=secrets)
    assert read.warnings == ()
    assert [(flow.name, flow.off) for flow in read.canary_flows] == [("A->B", "")]
    assert (str(read.http.address), read.http.address.port) == (f"0.0.0.0:{PORT}", PORT)
    assert read.store.database_url(tmp_path).database == f"{STATE}/mirrorwatch.db"
    # The name of the pod is another one after each restart.
    assert read.store.replica == "mirrorwatch"


def test_the_readme_says_what_is_untried_and_names_every_file():
    text = (DEPLOY / "README.md").read_text()
    assert "untried" in text
    for path in [*MANIFESTS, UNIT_FILE, COMMAND_FILE, DEPLOY / "container" / "Containerfile"]:
        assert path.relative_to(DEPLOY).as_posix() in text


# --- the weekly report


def test_the_report_of_the_cluster_runs_beside_the_service_with_its_image_and_volume():
    (job,) = loaded(REPORT)
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    service = by_kind()["Deployment"]["spec"]["template"]["spec"]
    (container,), (beside,) = pod["containers"], service["containers"]
    assert container["image"] == beside["image"]
    assert f"mirrorwatch report {CONFIGURATION} --out={STATE}/reports\n" in container["args"][0]
    assert container["securityContext"].items() >= beside["securityContext"].items()
    assert pod["securityContext"] == service["securityContext"]
    volumes = {one["name"]: one for one in pod["volumes"]}
    assert volumes["store"] == next(one for one in service["volumes"] if one["name"] == "store")


@pytest.mark.parametrize(("status", "job"), [(0, 0), (1, 0), (3, 0), (2, 2), (4, 4), (70, 70)])
def test_the_report_of_the_cluster_succeeds_if_one_was_written(tmp_path, status, job):
    (manifest,) = loaded(REPORT)
    spec = manifest["spec"]["jobTemplate"]["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    (tmp_path / "mirrorwatch").write_text(f"#!/bin/sh\nexit {status}\n")
    (tmp_path / "mirrorwatch").chmod(0o755)
    words = [*container["command"], *container["args"]]
    ended = subprocess.run(words, env={"PATH": f"{tmp_path}:/bin"}, check=False, timeout=30)
    assert ended.returncode == job
    assert spec["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"] == [2]


def test_the_report_of_systemd_is_the_service_of_its_timer_and_hardened_as_the_service_is():
    folder = UNIT_FILE.parent
    lines = (folder / "mirrorwatch-report.service").read_text().splitlines()
    command = next(line for line in lines if line.startswith("ExecStart="))
    assert command == (
        f"ExecStart=/opt/mirrorwatch/bin/mirrorwatch report {CONFIGURATION} --out {STATE}/reports"
    )
    assert "OnCalendar=Mon *-*-* 06:00" in (folder / "mirrorwatch-report.timer").read_text().splitlines()
    kept = {"NoNewPrivileges", "ProtectSystem", "CapabilityBoundingSet", "SystemCallFilter", "DynamicUser"}
    kept |= {"MemoryDenyWriteExecute", "PrivateUsers", "RestrictAddressFamilies", "StateDirectory"}
    service = unit()["Service"]
    assert [line for key in kept for value in service[key] if (line := f"{key}={value}") not in lines] == []
