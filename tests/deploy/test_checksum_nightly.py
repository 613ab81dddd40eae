"""What of the nightly checksum can be said without an engine: its image, its units, and its job."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from itertools import accumulate

import pytest
import yaml

from checksum.history.history import LEASE_S
from checksum.spark.settings import CONNECTOR, connector
from deploy.local.pyspark import pins, version
from mirrorwatch.checksums.interrupt import INTERRUPTED
from mirrorwatch.cli.checksum import checksum
from tests.house.containerfile import instructions
from tests.house.product_files import ROOT

DEPLOY = ROOT / "deploy"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
CONFIGURATION, STATE = "/etc/mirrorwatch/mirrorwatch.yaml", "/var/lib/mirrorwatch"
SERVICE_UNIT = DEPLOY / "systemd" / "mirrorwatch.service"
UNIT = DEPLOY / "systemd" / "mirrorwatch-checksum.service"
TIMER = DEPLOY / "systemd" / "mirrorwatch-checksum.timer"
CONTAINERFILE = DEPLOY / "container" / "Containerfile.checksum"
IMAGE = instructions(CONTAINERFILE.read_text())
SERVICE_IMAGE = instructions((DEPLOY / "container" / "Containerfile").read_text())
(CRON_JOB,) = yaml.safe_load_all((DEPLOY / "kubernetes" / "checksum" / "cronjob.yaml").read_text())
(DEPLOYMENT,) = yaml.safe_load_all((DEPLOY / "kubernetes" / "deployment.yaml").read_text())
JOB = CRON_JOB["spec"]["jobTemplate"]["spec"]
POD, SERVICE_POD = JOB["template"]["spec"], DEPLOYMENT["spec"]["template"]["spec"]
TRIED_AGAIN_IN_VAIN = {1, 2, 3}  # a difference, a bad configuration, less than asked for


def keys_of(path):
    """Return the values that each key of a unit is given."""
    found = {}
    for line in path.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", maxsplit=1)
            found.setdefault(key, []).append(value)
    return found


def parsed(words):
    """Return the parameters that `mirrorwatch checksum run` makes of these words; raises what click raises."""
    assert words[0] == "run"
    command = checksum.commands["run"]
    return command.make_context("run", list(words[1:])).params


# --- the image


def test_the_image_is_the_service_s_with_more_in_it():
    froms = [one.rest for one in IMAGE if one.word == "FROM"]
    assert froms == ["python:3.11-slim AS build", f"mirrorwatch:{VERSION}"]
    assert froms[0] == next(one.rest for one in SERVICE_IMAGE if one.word == "FROM")
    assert f"-t mirrorwatch-checksum:{VERSION} ." in CONTAINERFILE.read_text()


def test_it_ends_as_the_service_s_user_and_has_a_name_for_it():
    (user,) = [one.rest for one in SERVICE_IMAGE if one.word == "USER"]
    last = [one for one in IMAGE if one.stage == IMAGE[-1].stage]
    users = [number for number, one in enumerate(last) if one.word == "USER"]
    assert [last[number].rest for number in users] == ["0:0", user]
    assert {one.word for one in last[users[1] + 1 :]} == {"HEALTHCHECK", "CMD"}
    named = [one.listed for one in last if one.listed and one.listed[0] == "useradd"]
    assert [words[words.index("--uid") + 1] for words in named] == [user.split(":")[0]]


def test_what_it_installs_from_an_index_is_pinned_with_hashes():
    (install,) = [one.listed for one in IMAGE if one.listed and one.listed[0].endswith("/pip")]
    assert {"--require-hashes", "--only-binary=:all:"} <= set(install)
    assert install[install.index("-r") + 1] == "requirements/build.txt"


def test_pyspark_is_made_from_nothing_but_the_files_that_are_copied(tmp_path):
    for one in IMAGE:
        if one.word == "COPY" and "--from=" not in one.rest:
            *sources, there = one.rest.split()
            (tmp_path / there).mkdir(parents=True, exist_ok=True)
            for source in sources:
                if (ROOT / source).is_dir():
                    shutil.copytree(ROOT / source, tmp_path / there, dirs_exist_ok=True)
                else:
                    shutil.copy(ROOT / source, tmp_path / there)
    (made,) = [one.listed for one in IMAGE if one.listed and one.listed[-1].startswith("deploy.")]
    assert made == ["/opt/build/bin/python", "-m", "deploy.local.pyspark"]
    code = "from deploy.local.pyspark import spark_folder as f; import deploy; print(deploy.__file__, f())"
    said = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=tmp_path,
        env={"XDG_CACHE_HOME": str(tmp_path / "made")},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.split()
    assert said[0] == str(tmp_path / "deploy" / "__init__.py")
    locked = version(pins((ROOT / "requirements" / "checksum.txt").read_text())["pyspark"])
    copied = next(one.rest.split() for one in IMAGE if "--from=" in one.rest and one.word == "COPY")
    assert copied[1:2] == ["/made/mirrorwatch/pyspark-*/"]
    assert said[1].startswith(f"{tmp_path}/made/mirrorwatch/pyspark-{locked}-")
    assert copied[2] == "/opt/mirrorwatch/lib/python3.11/site-packages/"


def test_the_jars_that_it_bakes_in_are_the_connector_that_spark_would_fetch():
    locked = version(pins((ROOT / "requirements" / "checksum.txt").read_text())["pyspark"])
    sums = (DEPLOY / "local" / "jars" / "spark.sha256").read_text()
    names = [line.split()[1] for line in sums.splitlines()]
    fetched = connector([f"spark-core_2.13-{locked}.jar"], locked)
    assert fetched == f"org.apache.spark:{CONNECTOR}_2.13:{locked}"
    assert f"{CONNECTOR}_2.13-{locked}.jar" in names
    assert connector(names, locked) is None


def test_it_runs_what_the_command_line_takes():
    entry = next(one for one in SERVICE_IMAGE if one.word == "ENTRYPOINT")
    (command,) = [one.listed for one in IMAGE if one.word == "CMD"]
    assert (entry.listed, command[0]) == (["mirrorwatch"], "checksum")
    assert str(parsed(command[1:])["config"]) == CONFIGURATION


# --- the units


def test_the_unit_runs_what_the_command_line_takes_and_writes_where_it_may():
    (line,) = keys_of(UNIT)["ExecStart"]
    program, command, *words = shlex.split(line)
    # PySpark is in a virtual environment of its own.
    own = program.replace("/opt/mirrorwatch-checksum/", "/opt/mirrorwatch/")
    assert [f"{own} run {CONFIGURATION}"] == keys_of(SERVICE_UNIT)["ExecStart"]
    assert own != program
    assert command == "checksum"
    found = parsed(words)
    assert str(found["config"]) == CONFIGURATION
    assert {found[name].parent.as_posix() for name in ("json_file", "page")} == {STATE}


def test_the_unit_shares_user_and_folder_with_the_service():
    unit, service = keys_of(UNIT), keys_of(SERVICE_UNIT)
    assert unit["User"] == [SERVICE_UNIT.stem]  # the name that systemd gives the service's own user
    shared = (
        "DynamicUser",
        "StateDirectory",
        "ConfigurationDirectory",
        "WorkingDirectory",
        "EnvironmentFile",
    )
    assert [unit[key] for key in shared] == [service[key] for key in shared]


def test_the_unit_is_hardened_as_the_service_but_for_what_java_needs():
    unit, service = keys_of(UNIT), keys_of(SERVICE_UNIT)
    ours = {
        *("Description", "After", "StartLimitIntervalSec", "Type", "ExecStart", "ExecReload", "WantedBy"),
        *("Restart", "RestartSec", "RestartPreventExitStatus", "TimeoutStopSec"),
    }
    differing = {key for key in service if unit.get(key) != service[key]} - ours
    assert differing == {"MemoryDenyWriteExecute"}


def test_the_unit_tries_again_only_what_may_pass_and_not_for_ever():
    unit = keys_of(UNIT)
    assert unit["Restart"] == ["on-failure"]
    assert {int(one) for one in unit["RestartPreventExitStatus"][0].split()} == TRIED_AGAIN_IN_VAIN
    assert (unit["StartLimitIntervalSec"], unit["StartLimitBurst"]) == (["12h"], ["3"])


def test_a_unit_that_someone_stops_has_not_failed():
    assert keys_of(UNIT)["SuccessExitStatus"] == [str(INTERRUPTED)]


def test_the_timer_is_of_this_unit():
    assert TIMER.stem == UNIT.stem
    assert keys_of(TIMER)["Persistent"] == ["yes"]
    assert keys_of(TIMER)["WantedBy"] == ["timers.target"]
    assert "[Install]" not in UNIT.read_text()  # the timer is enabled, not what it starts


@pytest.mark.real
@pytest.mark.parametrize(
    "question", [["verify"], ["security", "--offline=true", "--threshold=15", "--no-pager"]], ids="-".join
)
def test_systemd_finds_nothing_wrong(tmp_path, question):
    asked = shutil.which("systemd-analyze")
    assert asked, "systemd-analyze is not installed: apt-get install systemd"
    here = []
    for path in (UNIT, TIMER) if question == ["verify"] else (UNIT,):
        # The program of the unit is not installed here; everything else of it is as it is.
        text = re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={shutil.which('true')}", path.read_text())
        here.append(tmp_path / path.name)
        here[-1].write_text(text)
    said = subprocess.run([asked, *question, *here], capture_output=True, text=True, check=False, timeout=60)
    assert (said.returncode, said.stderr) == (0, ""), said.stdout
    if question == ["verify"]:
        when = keys_of(TIMER)["OnCalendar"][0]
        asked_when = subprocess.run([asked, "calendar", when], capture_output=True, check=False, timeout=60)
        assert asked_when.returncode == 0


# --- the job


def test_the_job_runs_what_the_command_line_takes_from_the_image_as_it_is_built_here():
    (container,) = POD["containers"]
    assert container["image"] == f"mirrorwatch-checksum:{VERSION}"
    assert container["args"][0] == "checksum"
    found = parsed(container["args"][1:])
    assert str(found["config"]) == CONFIGURATION
    mounted = {one["mountPath"] for one in container["volumeMounts"]}
    assert {found[name].parent.as_posix() for name in ("json_file", "page")} == {STATE} <= mounted


def test_the_job_s_pod_is_as_the_service_s():
    (container,), (service,) = POD["containers"], SERVICE_POD["containers"]
    for key in ("securityContext", "env", "volumeMounts"):
        assert container[key] == service[key]
    for key in ("securityContext", "automountServiceAccountToken", "enableServiceLinks"):
        assert POD[key] == SERVICE_POD[key]
    volumes, services = ({one["name"]: one for one in pod["volumes"]} for pod in (POD, SERVICE_POD))
    assert volumes.keys() == services.keys()
    assert all(volumes[name] == services[name] for name in ("configuration", "store"))


def test_the_job_runs_where_the_store_s_volume_is_and_by_no_means_twice():
    (near,) = POD["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert near["topologyKey"] == "kubernetes.io/hostname"
    service = DEPLOYMENT["spec"]["template"]["metadata"]["labels"]
    assert near["labelSelector"]["matchLabels"].items() <= service.items()
    ours = JOB["template"]["metadata"]["labels"]
    # Nor does the service's address lead to the job.
    assert ours["app.kubernetes.io/name"] != service["app.kubernetes.io/name"]
    assert CRON_JOB["spec"]["concurrencyPolicy"] == "Forbid"


def test_the_job_tries_again_only_what_may_pass():
    (rule,) = JOB["podFailurePolicy"]["rules"]
    assert rule["action"] == "FailJob"
    assert rule["onExitCodes"]["containerName"] == POD["containers"][0]["name"]
    assert (rule["onExitCodes"]["operator"], set(rule["onExitCodes"]["values"])) == (
        "In",
        TRIED_AGAIN_IN_VAIN,
    )
    assert POD["restartPolicy"] == "Never"  # which a policy of failures asks for


def test_the_job_still_tries_when_the_lease_of_a_pod_that_was_killed_is_over():
    # The delays of Kubernetes' job controller: 10 s, twice that, and so on, six minutes at most.
    tries_s = list(accumulate(min(10 * 2**number, 360) for number in range(JOB["backoffLimit"])))
    assert len([at_s for at_s in tries_s if at_s > LEASE_S]) >= 3


def test_the_readme_names_every_file():
    text = (DEPLOY / "README.md").read_text()
    for path in (UNIT, TIMER, CONTAINERFILE):
        assert path.relative_to(DEPLOY).as_posix() in text
