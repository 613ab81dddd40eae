"""The command line as people and scripts use it: in a process of its own, with its exit status."""

from __future__ import annotations

import os
import platform
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

CONFIG = """\
clusters:
  A: {bootstrap.servers: "127.0.0.1:1"}
  B: {bootstrap.servers: "127.0.0.1:2"}
flows:
  A->B: {}
"""
STARTED_S = 30.0


def command(*arguments):
    return [sys.executable, "-m", "mirrorwatch", *map(str, arguments)]


def mirrorwatch(*arguments, **more):
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=60, check=False, encoding="utf-8", **more
    )


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "mirrorwatch.yaml"
    path.write_text(CONFIG + 'http: {listen: "127.0.0.1:0"}\n')
    return path


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ((), 2, "Usage: mirrorwatch [OPTIONS] COMMAND [ARGS]..."),
        (("chek", "x.yaml"), 2, "unknown command 'chek'; did you mean 'check'?"),
        (
            ("xyzzy",),
            2,
            "unknown command 'xyzzy'; the commands are annotate, check, checksum, drift, drill, exclude, failover, help, migrate, objectives, offsets, render, report, run, status, trace, version",
        ),
        (
            ("mm2.properties",),
            2,
            "'mm2.properties': not a command; write 'mirrorwatch run",
        ),
        (("run",), 2, "Missing argument 'CONFIG'"),
        (("run", "x.yaml", "--log-levle", "debug"), 2, "No such option '--log-levle'"),
        (("check", "/no/such.yaml"), 2, "/no/such.yaml: cannot be read (no such file or directory)"),
        (("run", "/no/such.yaml"), 2, "/no/such.yaml cannot be used: 1 problem."),
        (("check", "/"), 2, "/: is a directory"),
        (("status", "--json", "--cluster", "A"), 2, "--json prints flows, but --search and --cluster"),
    ],
)
def test_wrong_usage_is_status_2_with_a_sentence(arguments, status, said):
    ended = mirrorwatch(*arguments)
    assert (ended.returncode, ended.stdout) == (status, "")
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("name", ["", "check", "run", "status"])
def test_help_stands_by_itself(name):
    ended = mirrorwatch(*filter(None, [name]), "--help")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(f"Usage: mirrorwatch {name}".rstrip())
    assert "..." not in ended.stdout.split("\n", 1)[1]  # no summary is cut off


@pytest.mark.parametrize("words", [[], ["check"], ["status"], ["checksum"], ["checksum", "plan"]])
def test_help_is_a_command_too(words):
    asked, usual = mirrorwatch("help", *words), mirrorwatch(*words, "--help")
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout == usual.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chek"], "did you mean 'check'?"),
        (["check", "x"], "'check' has no command 'x'."),
        (["checksum", "pln"], "did you mean 'plan'?"),
    ],
)
def test_help_on_what_is_no_command(words, said):
    ended = mirrorwatch("help", *words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr


@pytest.mark.parametrize("word", ["version", "--version"])
def test_the_version_with_its_revision_and_python(word):
    ended = mirrorwatch(word, env=os.environ | {"MIRRORWATCH_REVISION": "0123abc"})
    assert (ended.returncode, ended.stderr) == (0, "")
    python = platform.python_version()
    assert re.fullmatch(rf"mirrorwatch \d\S* \(revision 0123abc, Python {python}\)\n", ended.stdout)


@pytest.mark.parametrize("interval", ["0s", "soon", "2h", "-1"])
def test_an_interval_that_makes_no_sense_is_refused(interval):
    ended = mirrorwatch("status", "--watch", "--interval", interval)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "invalid duration" in ended.stderr or "out of range" in ended.stderr


def test_help_needs_no_kafka_client():
    code = "import sys; from mirrorwatch.cli import main; sys.exit('confluent_kafka' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_check_without_clusters_is_fine(config):
    ended = mirrorwatch("check", "--no-connect", config)
    assert ended.returncode == 0
    assert "OK: the configuration is valid" in " ".join(ended.stdout.split())


def test_clusters_that_cannot_be_reached_are_status_4(config):
    ended = mirrorwatch("check", config)
    assert ended.returncode == 4
    assert "Traceback" not in ended.stdout + ended.stderr


def test_what_is_no_address_of_a_service_is_status_2():
    ended = mirrorwatch("status", "nosuch.yml")
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "a configuration, not the address of a service" in ended.stderr


def test_status_takes_user_and_password_from_the_environment():
    with socket.create_server(("127.0.0.1", 0)) as server:
        environ = os.environ | {"MIRRORWATCH_USER": "anna", "MIRRORWATCH_PASSWORD": "b"}
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with subprocess.Popen(command("status", address), env=environ, stdout=subprocess.PIPE) as asking:
            connection, _ = server.accept()
            with connection:
                asked = connection.recv(10_000).decode()
                connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            asking.communicate(timeout=60)
    assert "Authorization: Basic YW5uYTpi" in asked
    assert asking.returncode == 4


def test_no_service_is_status_4():
    ended = mirrorwatch("status", "127.0.0.1:1")
    assert ended.returncode == 4
    assert ended.stdout == ""
    assert "no service answers" in ended.stderr


def test_every_problem_of_a_configuration_is_reported_before_the_count(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(CONFIG.replace("A->B", "A->C") + "canary: {interval: 0s, treshold: 1s}\n")
    ended = mirrorwatch("run", path)
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1] == f"{path} cannot be used: 3 problems."
    assert len(ended.stderr.splitlines()) == 4


def test_a_name_steers_no_terminal(tmp_path):
    (tmp_path / "c.json").write_text(
        '{"name": "m\\u001b[31m\\nall is well", "config": {"connector.class": "MirrorSource"}}'
    )
    path = tmp_path / "mirrorwatch.yaml"
    path.write_text("mm2: c.json\n")
    ended = mirrorwatch("check", path)
    told, count = ended.stderr.splitlines()
    assert (
        f"{tmp_path}/c.json: m\N{REPLACEMENT CHARACTER}[31m all is well.source.cluster.alias: is missing"
        in told
    )
    assert count == f"{path} cannot be used: 1 problem."


def test_a_reader_that_goes_away_is_no_finding(config):
    process = subprocess.Popen(
        command("check", "--no-connect", config), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert said == b""


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_closed_streams_change_nothing(config, closed):
    shell = f'"$0" -m mirrorwatch check --no-connect "$1" {closed}'
    ended = subprocess.run(
        ["sh", "-c", shell, sys.executable, str(config)], capture_output=True, check=False, timeout=60
    )
    assert ended.returncode == 0
    assert ended.stderr == b""


def test_a_full_disk_is_reported(config):
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        ended = subprocess.run(
            command("check", "--no-connect", config),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert ended.returncode == 4
    assert b"no space left" in ended.stderr
    assert b"Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
        {"NO_COLOR": "1", "COLUMNS": "20"},
        {"TERM": "dumb", "COLUMNS": "300"},
    ],
)
def test_any_terminal_will_do(config, environment):
    flow = 'A->B: {topics: "caf\u00e9\u2192.*, mirrorwatch-canary"}'
    config.write_text(config.read_text().replace("A->B: {}", flow), encoding="utf-8")
    ended = mirrorwatch("check", "--no-connect", config, env=os.environ | environment)
    assert ended.returncode == 0
    assert "\x1b[" not in ended.stdout
    assert "OK: the configuration is valid" in " ".join(ended.stdout.split())


def test_a_port_in_use_is_status_4(config):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        config.write_text(CONFIG + f'http: {{listen: "127.0.0.1:{port}"}}\n')
        ended = mirrorwatch("run", config)
    assert ended.returncode == 4
    assert f"http.listen: 127.0.0.1:{port} is in use by another program" in ended.stderr
    assert "Traceback" not in ended.stderr
    # Started twice by mistake, the second one has not touched the store of the first.
    assert not [path.name for path in config.parent.iterdir() if ".db" in path.name]


@pytest.mark.parametrize("url", ["sqlite:////proc/nowhere/x.db", "sqlite:///folder", "sqlite:///text.db"])
def test_a_store_that_cannot_be_opened_is_status_4(config, url):
    (config.parent / "folder").mkdir()
    (config.parent / "text.db").write_text("this is no database, however long it may become\n" * 50)
    config.write_text(config.read_text() + f'store: {{url: "{url}"}}\n')
    ended = mirrorwatch("run", config)
    assert ended.returncode == 4
    assert "Traceback" not in ended.stderr
    assert "store" in ended.stderr


def wait_for_line(process, word):
    deadline = time.monotonic() + STARTED_S
    lines = []
    while time.monotonic() < deadline:
        lines.append(process.stderr.readline())
        if word in lines[-1]:
            return
    raise AssertionError(lines)


def test_a_service_that_runs_has_no_numpy(config):
    with subprocess.Popen(command("run", config), stderr=subprocess.PIPE, text=True) as process:
        wait_for_line(process, "mirrorwatch is up")
        mapped = Path(f"/proc/{process.pid}/maps").read_text()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    # Arrays are for its child: to the service they would be 7 MiB without a use.
    assert "/aiohttp/" in mapped
    assert "/numpy/" not in mapped


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_run_ends_with_0_by_one_signal(config, number):
    with subprocess.Popen(command("run", config), stderr=subprocess.PIPE, text=True) as process:
        wait_for_line(process, "mirrorwatch is up")
        process.send_signal(number)
        rest = process.communicate(timeout=60)[1]
        assert process.returncode == 0
        assert "mirrorwatch has stopped" in rest
        assert "Traceback" not in rest


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_run_ends_with_0_by_one_signal_while_it_still_reads_its_configuration(tmp_path, number):
    pipe = tmp_path / "mirrorwatch.yaml"
    os.mkfifo(pipe)
    with subprocess.Popen(command("run", pipe), stderr=subprocess.PIPE, text=True) as process:
        with pipe.open("w"):  # opens as soon as the other side reads, which then waits for us
            process.send_signal(number)
            said = process.communicate(timeout=60)[1]
        assert (process.returncode, said) == (0, "mirrorwatch: stopped by a signal before it started.\n")


def test_ctrl_c_ends_a_check_with_130_while_it_still_reads_its_configuration(tmp_path):
    pipe = tmp_path / "mirrorwatch.yaml"
    os.mkfifo(pipe)
    with subprocess.Popen(command("check", pipe), stderr=subprocess.PIPE, text=True) as process:
        with pipe.open("w"):
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1]
        assert (process.returncode, said.strip()) == (130, "")


def test_ctrl_c_ends_a_check_with_130(config):
    # A port that takes connections and says nothing keeps the check waiting.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        config.write_text(config.read_text().replace("127.0.0.1:1", f"127.0.0.1:{port}"))
        with subprocess.Popen(
            command("check", config), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            silent.settimeout(STARTED_S)
            silent.accept()[0].close()
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1]
            assert process.returncode == 130
            assert "Traceback" not in said


def test_ctrl_c_ends_a_status_with_130():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(STARTED_S)
        with subprocess.Popen(
            command("status", f"127.0.0.1:{silent.getsockname()[1]}"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            held, _ = silent.accept()
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1]
            held.close()
            assert process.returncode == 130
            assert said.strip() == ""


def test_sigterm_ends_a_command_that_a_shell_put_behind_itself():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(STARTED_S)
        written = " ".join(command("status", f"127.0.0.1:{silent.getsockname()[1]}"))
        # A shell without job control has what follows an `&` ignore SIGINT.
        with subprocess.Popen(
            ["/bin/sh", "-c", f"trap '' INT; exec {written}"], stderr=subprocess.PIPE
        ) as process:
            held, _ = silent.accept()
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=60)[1]
            held.close()
            assert (process.returncode, said.strip()) == (130, b"")


FAULTY = """\
import sys, mirrorwatch.check.check
async def check(config, **options):
    raise {error}
mirrorwatch.check.check.check = check
from mirrorwatch.cli.main import main
sys.argv = ["mirrorwatch", "check", *sys.argv[1:]]
main()
"""


def faulty(config, *options, error="KeyError('hunter2secret')"):
    return subprocess.run(
        [sys.executable, "-c", FAULTY.format(error=error), str(config), *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_fault_of_ours_is_reported_as_one_without_a_traceback(config):
    ended = faulty(config)
    assert ended.returncode == 70
    assert len(ended.stderr.splitlines()) == 1
    assert re.search(r"This is a bug in Mirrorwatch, not in its configuration: KeyError", ended.stderr)
    assert "--log-level debug" in ended.stderr
    assert "hunter2secret" not in ended.stderr


@pytest.mark.parametrize("options", [("--log-level", "debug"), ("--log-format", "json")])
def test_its_details_come_where_they_are_asked_for_and_hold_no_secret(config, options):
    text = config.read_text().replace('"127.0.0.1:2"', '"127.0.0.1:2", sasl.password: hunter2secret')
    config.write_text(text)
    ended = faulty(config, *options)
    assert ended.returncode == 70
    assert "Traceback" in ended.stderr
    assert "hunter2secret" not in ended.stderr


def test_our_own_errors_in_a_group_of_tasks_are_reported_as_they_are(config):
    group = (
        "__import__('builtins').ExceptionGroup('tasks', [__import__('fleet.errors').errors.{}('B is away')])"
    )
    ended = faulty(config, error=group.format("UnavailableError"))
    assert (ended.returncode, ended.stderr) == (4, "B is away\n")
