"""What a stranger types wrongly at `mirrorwatch checksum` ends at once, in sentences that name the mistake."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import pytest
from click.testing import CliRunner

from mirrorwatch.cli.checksum import checksum

STARTED_S = 30.0
CONFIG = """\
clusters:
  A: {bootstrap.servers: "127.0.0.1:1"}
  B: {bootstrap.servers: "127.0.0.1:2"}
flows:
  A->B: {}
"""


@pytest.fixture
def typed(tmp_path):
    """Give a function that types words, CONFIG's path for the second, and returns status and output."""
    (tmp_path / "mirrorwatch.yaml").write_text(CONFIG)

    def run(command, *words, config="mirrorwatch.yaml"):
        place = {word: str(tmp_path / word) for word in words if word.endswith(".json")}
        arguments = [command, str(tmp_path / config), *(place.get(word, word) for word in words)]
        ended = CliRunner().invoke(checksum, arguments, standalone_mode=False)
        return ended.return_value, ended.output.replace(f"{tmp_path}/", "")

    return run


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("plan",),
            "the command line: --topic: missing; name topics here or in checksum.topics, or use",
        ),
        (
            ("plan", "--all", "--topic", "x"),
            "the command line: --all: cannot be combined with --topic; remove one of the",
        ),
        (
            ("plan", "--all", "--flow", "A:C"),
            "the command line: --flow: unknown flow 'A:C'; the flows are A:B",
        ),
        (
            ("plan", "--all", "--json", "no/x.json"),
            "the command line: --json: folder no does not exist; create it",
        ),
        (
            ("plan", "--all", "--out", "no/x.json"),
            "the command line: --out: folder no does not exist; create it",
        ),
        (
            ("digest", "--plan", "gone.json", "--side", "source", "--out", ""),
            "the command line: --out: missing; name the digest's folder",
        ),
        (
            ("digest", "--plan", "gone.json", "--side", "source", "--out", "d"),
            "gone.json: cannot be read: no such file or directory",
        ),
    ],
)
def test_the_mistake_is_named_before_any_cluster_is_asked_and_the_configuration_is_not_blamed(
    typed, words, said
):
    status, output = typed(*words)
    assert status == 2
    first, last = output.splitlines()
    assert first.startswith(said)
    assert last == "No checksum made: 1 problem."


def test_a_configuration_that_cannot_be_used_is_blamed(typed, tmp_path):
    (tmp_path / "wrong.yaml").write_text(CONFIG + "checksum: {max_bytes: 1 kB}\n")
    status, output = typed("plan", "--all", config="wrong.yaml")
    assert status == 2
    assert "checksum.max_bytes: invalid size '1 kB'" in output
    assert output.splitlines()[-1] == "wrong.yaml cannot be used: 1 problem."


def test_a_folder_that_takes_no_files_is_reported_before_hours_of_work(typed, monkeypatch):
    monkeypatch.setattr(os, "access", lambda _path, mode: not mode & os.W_OK)  # root may write everywhere
    status, output = typed("plan", "--all", "--out", "x.json")
    assert status == 2
    assert output.startswith("the command line: --out: cannot write to folder ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_plan_with_130_and_without_a_word(tmp_path, number):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes connections and says nothing
        silent.settimeout(STARTED_S)
        config = tmp_path / "mirrorwatch.yaml"
        config.write_text(CONFIG.replace("127.0.0.1:1", f"127.0.0.1:{silent.getsockname()[1]}"))
        with subprocess.Popen(
            [sys.executable, "-m", "mirrorwatch", "checksum", "plan", str(config), "--all"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            silent.accept()[0].close()
            process.send_signal(number)
            said = process.communicate(timeout=60)[0]
        assert (process.returncode, said.strip()) == (130, "")


@pytest.mark.parametrize("option", ["--json", "--out"])
def test_a_name_that_no_file_can_have_is_reported(typed, option):
    status, output = typed("plan", "--all", option, "x" * 300)
    assert status == 2
    assert output.startswith(f"the command line: {option}: cannot write to {'x' * 100}…: file name too long")


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("", "missing; name the digest's folder"),
        (" ", "missing"),
        ("/", "cannot be the root of the file system"),
        ("file:///", "cannot be the root of the file system"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--print-submit",), ("--master", "local[2]")])
def test_a_folder_that_would_be_the_root_is_refused(typed, folder, said, more):
    status, output = typed("run", "--all", "--master", "spark://h:7077", "--folder", folder, *more)
    assert status == 2
    assert output.startswith(f"the command line: --folder: {said}")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("run", "--all", "--folder", "d"), "--folder"),
        (("run", "--all", "--folder", "d", "--print-submit"), "--folder"),
        (("digest", "--plan", "p", "--side", "source", "--out", "./d"), "--out"),
        (("compare", "--plan", "p", "--source", "d", "--target", "/d"), "--source"),
        (("compare", "--plan", "p", "--source", "s3a://b/d", "--target", "d"), "--target"),
    ],
)
def test_a_relative_folder_is_refused_where_spark_runs_on_other_machines(typed, words, option):
    status, output = typed(*words, "--master", "spark://h:7077")
    assert status == 2
    assert output.startswith(f"the command line: {option}: cannot be the relative path '")
    assert "as Spark runs at spark://h:7077; write it as" in output


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_digest_without_a_name_is_refused(typed, side):
    folders = {"source": "s", "target": "t"} | {side: ""}
    status, output = typed(
        "compare", "--plan", "p", "--source", folders["source"], "--target", folders["target"]
    )
    assert status == 2
    assert output.startswith(f"the command line: --{side}: missing")


@pytest.mark.parametrize(
    ("size", "said"),
    [
        ("2", "invalid size '2'; write it as 512m or 2g"),
        ("0g", "invalid size '0g'"),
        ("2gb", "invalid size '2gb'"),
        ("-1g", "invalid size '-1g'"),
        ("1t", "invalid size '1t'"),
        ("511m", "must be at least 512m; Spark does not start with less"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--print-submit",)])
def test_memory_that_is_none_is_refused(typed, size, said, more):
    status, output = typed("run", "--all", f"--driver-memory={size}", *more)
    assert status == 2
    assert output.startswith(f"the command line: --driver-memory: {said}")


def test_without_a_folder_for_scratch_files_the_variable_is_named(typed, monkeypatch):
    def full(**_named):
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("mirrorwatch.checksums.spark.tempfile.mkdtemp", full)
    status, output = typed("run", "--all")
    assert status == 4
    assert "name another in TMPDIR" in output
