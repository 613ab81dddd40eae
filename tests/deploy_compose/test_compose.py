"""What can be said of the compose file without a container engine, and what promtool and amtool say of its files."""

from __future__ import annotations

import ipaddress
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import PurePosixPath

import pytest
import yaml

from mirrorwatch.configuration.reading import read_configuration
from tests.house.containerfile import instructions
from tests.house.product_files import ROOT
from tests.house.test_words import findings

FOLDER = ROOT / "deploy" / "compose"
FILE = FOLDER / "compose.yaml"
README = (FOLDER / "README.md").read_text()
COMPOSE = yaml.safe_load(FILE.read_text())
SERVICES = COMPOSE["services"]
CONTAINERFILE = ROOT / SERVICES["mirrorwatch"]["build"]["dockerfile"]
IMAGE = instructions(CONTAINERFILE.read_text())
ONE_SHOT = {"render"}
# MirrorMaker, a producer and a consumer have no endpoint that could be asked.
WITHOUT_HEALTH_CHECK = {"mirror", "traffic", "consumer"} | ONE_SHOT
KEYS = {
    "build", "cap_drop", "command", "depends_on", "environment", "group_add", "healthcheck", "hostname", "image",
    "logging", "mem_limit", "network_mode", "pids_limit", "ports", "read_only", "restart", "security_opt",
    "stop_grace_period", "tmpfs", "user", "volumes",
}  # fmt: skip
services = pytest.mark.parametrize("name", SERVICES)


def mounts(service):
    """Return source, path in the container and options of each volume."""
    return [tuple((*one.split(":"), "")[:3]) for one in service.get("volumes", ())]


def words(service):
    """Return the command of a service as one text, as the shell in the container gets it."""
    command = service.get("command", "")
    return (command if isinstance(command, str) else " ".join(command)).replace("$$", "$")


# --- the compose file


def test_the_file_has_what_a_demonstration_needs_and_no_unknown_key():
    assert set(COMPOSE) - {key for key in COMPOSE if key.startswith("x-")} == {"name", "services", "volumes"}
    assert list(SERVICES) == [
        "kafka-a", "kafka-b", "mirror", "traffic", "consumer", "mirrorwatch", "render", "prometheus", "alertmanager",
        "grafana",
    ]  # fmt: skip
    assert {key for service in SERVICES.values() for key in service} <= KEYS


@services
def test_an_image_has_an_exact_tag(name):
    image = SERVICES[name]["image"]
    assert re.fullmatch(r"(?:[a-z]+/)?[a-z]+:v?\d+\.\d+\.\d+", image), image


def test_the_image_of_the_service_is_built_from_this_checkout():
    build = SERVICES["mirrorwatch"]["build"]
    assert (FOLDER / build["context"]).resolve() == ROOT
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    tag = f"mirrorwatch:{version}"
    assert f"-t {tag} ." in CONTAINERFILE.read_text()
    assert SERVICES["mirrorwatch"]["image"] == SERVICES["render"]["image"] == tag
    # Two builds with one tag at a time can fail, so one of the two has none.
    assert [name for name, service in SERVICES.items() if "build" in service] == ["mirrorwatch"]


def test_the_brokers_and_the_mirror_are_the_kafka_that_the_local_stack_starts():
    version = SERVICES["kafka-a"]["image"].split(":")[1]
    assert {service["image"] for service in SERVICES.values() if "kafka" in service["image"]} == {
        f"apache/kafka:{version}"
    }
    assert (ROOT / "deploy" / "local" / "jars" / f"kafka-{version}.xml").exists()
    named = yaml.safe_load((FOLDER / "mirrorwatch.yaml").read_text())["mirror_version"]
    assert version.startswith(f"{named}.")


@services
def test_a_port_is_on_loopback(name):
    for port in SERVICES[name].get("ports", ()):
        address, outside, inside = port.split(":")
        assert ipaddress.ip_address(address).is_loopback
        assert outside == inside


def test_the_ports_are_those_of_pages():
    ports = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert ports == {
        "mirrorwatch": ["127.0.0.1:9699:9699"],
        "prometheus": ["127.0.0.1:9090:9090"],
        "alertmanager": ["127.0.0.1:9093:9093"],
        "grafana": ["127.0.0.1:3000:3000"],
    }


@services
def test_a_service_is_hardened(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == ("no" if name in ONE_SHOT else "unless-stopped")
    user, group = service["user"].split(":")
    assert int(user) > 0
    # The folders of Grafana's image belong to the group root, which has no rights of the user root.
    assert int(group) > 0 or name == "grafana"


@services
def test_memory_processes_and_logs_are_limited(name):
    service = SERVICES[name]
    limit = megabytes(service["mem_limit"])
    assert 0 < limit <= 768
    assert service["pids_limit"] <= 512
    assert {"max-size", "max-file"} <= set(service["logging"]["options"])
    for mount in service.get("tmpfs", ()):
        size = re.search(r"size=(\w+)", mount)
        assert size, mount
        assert megabytes(size[1]) < limit
    heap = re.search(r"-Xmx(\w+)", service.get("environment", {}).get("KAFKA_HEAP_OPTS", ""))
    assert bool(heap) == ("kafka" in service["image"])
    if heap:
        assert megabytes(heap[1]) <= limit / 2


def megabytes(text):
    found = re.fullmatch(r"(\d+)m", text)
    assert found, text
    return int(found[1])


def test_the_readme_has_the_sum_of_the_limits():
    total = sum(megabytes(service["mem_limit"]) for service in SERVICES.values() if service is not render())
    assert f"{total / 1024:.1f} GB" in README


def render():
    return SERVICES["render"]


@services
def test_a_service_has_a_health_check_or_a_reason(name):
    checked = "healthcheck" in SERVICES[name]
    assert checked == (name not in WITHOUT_HEALTH_CHECK)
    if checked:
        # Not `start_interval`, which Docker before 25 and Podman refuse.
        assert {"test", "interval", "timeout", "start_period", "retries"} == set(
            SERVICES[name]["healthcheck"]
        )


def test_the_health_check_of_the_service_is_that_of_its_image():
    (check,) = [one for one in IMAGE if one.word == "HEALTHCHECK"]
    assert SERVICES["mirrorwatch"]["healthcheck"]["test"] == ["CMD", *check.listed]


@services
def test_what_a_service_waits_for_can_happen(name):
    for other, wait in SERVICES[name].get("depends_on", {}).items():
        condition = wait["condition"]
        if other in ONE_SHOT:
            assert condition == "service_completed_successfully"
        elif other in WITHOUT_HEALTH_CHECK:
            assert condition == "service_started"
        else:
            assert condition == "service_healthy"


@services
def test_a_mounted_file_exists_and_is_read_only(name):
    for source, _, options in mounts(SERVICES[name]):
        if source.startswith("."):
            assert (FOLDER / source).is_file(), source
            assert options == "ro"
        else:
            assert source in COMPOSE["volumes"]


def test_every_file_and_volume_is_used():
    sources = [source for service in SERVICES.values() for source, _, _ in mounts(service)]
    files = {f"./{path.name}" for path in FOLDER.iterdir()} - {"./compose.yaml", "./README.md"}
    assert files == {source for source in sources if source.startswith(".")}
    assert set(COMPOSE["volumes"]) == {source for source in sources if not source.startswith(".")}


@services
def test_a_file_that_a_command_names_is_mounted(name):
    service = SERVICES[name]
    paths = {path for _, path, _ in mounts(service)}
    text = words(service) + " ".join(map(str, service.get("environment", {}).values()))
    named = set(re.findall(r"/etc/(?:demo|mirrorwatch|prometheus)/[\w.]+", text))
    assert named <= paths
    assert named or name in {"alertmanager", "grafana"}


@services
def test_a_secret_is_not_in_the_file(name):
    assert not [key for key in SERVICES[name].get("environment", {}) if "PASSWORD" in key]


# --- the configurations


def test_the_service_takes_its_configuration():
    read = read_configuration(FOLDER / "mirrorwatch.yaml", environ={})
    assert read.warnings == ()
    assert [(flow.name, flow.off) for flow in read.canary_flows] == [("A->B", "")]
    # The container's port, which is published on loopback only.
    assert (str(read.http.address), read.http.insecure) == ("0.0.0.0:9699", True)
    database = PurePosixPath(read.store.database_url(FOLDER).database)
    assert str(database.parent) in [path for _, path, _ in mounts(SERVICES["mirrorwatch"])]


def test_check_accepts_the_configuration():
    ended = run(
        sys.executable, "-m", "mirrorwatch", "check", "--no-connect", "--json", FOLDER / "mirrorwatch.yaml"
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    said = json.loads(ended.stdout)
    assert (said["problems"], said["warnings"]) == ([], [])
    assert sorted(one["bootstrap_servers"] for one in said["clusters"]) == ["kafka-a:9092", "kafka-b:9092"]


def test_the_brokers_listen_where_the_others_connect():
    settings = properties(FOLDER / "broker.properties")
    listeners = dict(one.split("://") for one in settings["listeners"].split(","))
    assert listeners["PLAINTEXT"] == ":9092"
    assert settings["controller.quorum.voters"] == f"{settings['node.id']}@{listeners['CONTROLLER']}"
    for name in ("kafka-a", "kafka-b"):
        broker = SERVICES[name]
        assert broker["hostname"] == name
        assert 'advertised.listeners=PLAINTEXT://$HOSTNAME:9092"' in words(broker)
        assert settings["log.dirs"] in [path for _, path, _ in mounts(broker)]
    identities = {SERVICES[name]["environment"]["CLUSTER_ID"] for name in ("kafka-a", "kafka-b")}
    assert len(identities) == 2
    assert all(re.fullmatch(r"[\w-]{22}", one) for one in identities)


def properties(path):
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", maxsplit=1) for line in lines)


# --- what render writes for it


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """Give the folder that the service `render` writes, and its place in the containers."""
    (volume, place, _) = next(one for one in mounts(render()) if not one[0].startswith("."))
    command = list(render()["command"])
    assert command[0] == "render"
    assert command[-1] == place
    folder = tmp_path_factory.mktemp("compose") / volume
    inside = str(PurePosixPath("/etc/mirrorwatch/mirrorwatch.yaml"))
    command[command.index(inside)], command[-1] = FOLDER / "mirrorwatch.yaml", folder
    ended = run(sys.executable, "-m", "mirrorwatch", *command)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


def outside(path, rendered):
    """Return the file on this machine of a path that a service reads from the volume of `render`."""
    assert path.startswith("/rendered/")
    return rendered / path.removeprefix("/rendered/")


@pytest.mark.parametrize("name", ["prometheus", "alertmanager", "grafana"])
def test_what_is_rendered_can_be_read_by_those_who_use_it(name):
    assert ("rendered", "/rendered", "ro") in mounts(SERVICES[name])
    # The image gives the folder to user and group 10001 with mode 0750.
    (made,) = [one.listed for one in IMAGE if one.word == "RUN" and one.listed and one.listed[0] == "install"]
    assert made[made.index("-m") + 1] == "0750"
    assert [made[made.index("-g") + 1]] == SERVICES[name]["group_add"]
    assert made[-1] == render()["command"][-1]
    assert render()["user"] == SERVICES["mirrorwatch"]["user"] == "10001:10001"


def test_the_image_has_what_render_needs():
    asked = [one.listed for one in IMAGE if one.word == "RUN" and one.listed and "install" in one.listed]
    assert any("requirements/render.txt" in command for command in asked)


def test_prometheus_takes_its_configuration_and_the_rules(tmp_path, rendered):
    document = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    document["rule_files"] = [str(outside(path, rendered)) for path in document["rule_files"]]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(document))
    checked = run(program("promtool"), "check", "config", tmp_path / "prometheus.yml")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "SUCCESS: 1 rule files found" in checked.stdout
    checked = run(program("promtool"), "check", "rules", *document["rule_files"])
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_prometheus_scrapes_the_service_as_render_says():
    document = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    (targets,) = document["scrape_configs"][0]["static_configs"]
    assert targets == {"targets": ["mirrorwatch:9699"]}
    (managers,) = document["alerting"]["alertmanagers"]
    assert managers == {"static_configs": [{"targets": ["alertmanager:9093"]}]}


def test_the_scrape_differs_from_the_rendered_one_in_its_target_only(rendered):
    ours = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"]
    theirs = yaml.safe_load((rendered / "prometheus" / "scrape.yml").read_text())["scrape_configs"]
    theirs[0]["static_configs"][0]["targets"] = ["mirrorwatch:9699"]
    assert ours == theirs


def test_alertmanager_takes_its_configuration(rendered):
    (option,) = [one for one in SERVICES["alertmanager"]["command"] if one.startswith("--config.file=")]
    checked = run(program("amtool"), "check-config", outside(option.split("=")[1], rendered))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_grafana_finds_the_dashboards_and_prometheus(rendered):
    provider = yaml.safe_load((FOLDER / "grafana-dashboards.yml").read_text())
    folder = outside(provider["providers"][0]["options"]["path"], rendered)
    names = sorted(path.name for path in folder.glob("*.json"))
    assert names == [
        f"mirrorwatch-{name}.json" for name in ("checksums", "fleet", "flow", "groups", "service")
    ]
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert outside(home, rendered).is_file()
    theirs = yaml.safe_load(
        (rendered / "grafana" / "provisioning" / "dashboards" / "mirrorwatch.yml").read_text()
    )
    theirs["providers"][0]["options"]["path"] = provider["providers"][0]["options"]["path"]
    assert provider == theirs
    (source,) = yaml.safe_load((FOLDER / "grafana-datasource.yml").read_text())["datasources"]
    assert (source["type"], source["url"]) == ("prometheus", "http://prometheus:9090")


def program(name):
    found = shutil.which(name)
    assert found, f"{name} is not installed; run make monitoring"
    return found


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


# --- the README


def test_the_readme_is_short_and_in_plain_words():
    assert findings(README) == []
    assert README.count("\n") <= 60


def test_the_readme_has_every_address_and_names_services_that_exist():
    for service in SERVICES.values():
        for port in service.get("ports", ()):
            assert f"http://localhost:{port.split(':')[1]}" in README
    named = re.findall(r"docker compose (?:stop|start|exec|kill -s SIG\w+) ([\w-]+)", README)
    assert {"mirror"} <= set(named) <= set(SERVICES)
    assert "untried" in README.lower()
