"""`mirrorwatch checksum` as it is typed: options, exit status, and what is missing in one sentence."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from functools import partial
from importlib.metadata import requires
from pathlib import Path

import pytest
from click.testing import CliRunner

from checksum.digest.cell_rows import Side
from checksum.plan.document import plan_id
from checksum.spark.submit_line import pinned_version
from fleet.errors import ConfigurationError, UnavailableError
from mirrorwatch.checksums import spark as checksum_spark
from mirrorwatch.cli.checksum import checksum
from runtime.kafka.admin import ClusterAdmin
from tests.mirrorwatch.checksum_stage import CONFIG, Stage
from tests.mirrorwatch.checksums.test_run import mirrored


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "mirrorwatch.yaml"
    path.write_text(CONFIG.replace("a:1", "127.0.0.1:1").replace("b:1", "127.0.0.1:2"))
    return str(path)


@pytest.fixture
def typed():
    def run(*arguments):
        ended = CliRunner().invoke(checksum, [*map(str, arguments)], standalone_mode=False)
        status = ended.exception.exit_code if hasattr(ended.exception, "exit_code") else ended.return_value
        said = ended.output + (
            ended.exception.format_message() if hasattr(ended.exception, "exit_code") else ""
        )
        return status, said

    return run


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Let PySpark seem to be there, and Spark's folders be the test's own."""
    monkeypatch.setattr(checksum_spark, "pyspark_folder", lambda: None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.parametrize(
    "command", [("run", "--all"), ("digest", "--plan", "p", "--side", "source", "--out", "o")]
)
def test_without_pyspark_the_line_to_type_is_reported(typed, config, command, monkeypatch):
    monkeypatch.setattr("checksum.spark.settings.find_spec", lambda _name: None)
    status, said = typed(command[0], config, *command[1:])
    assert status == 4
    assert "PySpark is not installed; install requirements-checksum.txt of the release" in said
    assert "Traceback" not in said


def test_a_spark_home_that_is_none_is_reported_before_any_cluster_is_asked(typed, config, monkeypatch):
    monkeypatch.setenv("SPARK_HOME", "/nope")
    status, said = typed("run", config, "--all")
    assert status == 4
    assert said.startswith("SPARK_HOME: no Spark in '/nope'; unset it, or set it to the folder")


def test_help_and_a_plan_need_no_pyspark():
    code = (
        "import sys\n"
        "from mirrorwatch.cli import checksum\n"
        "heavy = [name for name in ('confluent_kafka', 'numpy', 'pyspark', 'pydantic') if name in sys.modules]\n"
        "from mirrorwatch.checksums import plan, run, sites, spark\n"
        "sys.exit(str(heavy + [name for name in ('pyspark', 'py4j') if name in sys.modules] or 'none'))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], check=False, timeout=60, capture_output=True, text=True
    )
    assert ended.stderr.strip() == "none"


@pytest.mark.parametrize("name", ["", "plan", "run", "digest", "compare"])
def test_every_command_has_help(typed, name):
    status, said = typed(*filter(None, [name]), "--help")
    assert status == 0
    assert said.startswith("Usage:")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("rnu",), "unknown command 'rnu'; did you mean 'run'?"),
        (("run",), "Missing argument 'CONFIG'"),
        (("digest", "x.yaml"), "Missing option '--plan'"),
        (("digest", "x.yaml", "--plan", "p", "--side", "left", "--out", "o"), "'left' is not one of"),
        (("run", "/no/such.yaml"), "/no/such.yaml: cannot be read (no such file or directory)"),
    ],
)
def test_wrong_usage_is_status_2(typed, arguments, sentence):
    status, said = typed(*arguments)
    assert status == 2
    assert sentence in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "--topic: missing; name topics here or in checksum.topics, or use --all"),
        (("--all", "--topic", "x"), "cannot be combined with --topic"),
        (("--all", "--flow", "A-"), "write A:B"),
        (("--all", "--flow", "C:D"), "unknown flow 'C:D'"),
        (("--all", "--master", "spark://far:7077"), "--folder: missing"),
        (("--all", "--json", "/no/such/folder/x.json"), "folder /no/such/folder does not exist"),
    ],
)
def test_what_makes_no_sense_is_status_2_before_anybody_is_asked(
    typed, config, installed, arguments, sentence
):
    status, said = typed("run", config, *arguments)
    assert (status, sentence in said) == (2, True), said


def test_clusters_that_cannot_be_reached_are_status_4(typed, config, monkeypatch):
    monkeypatch.setattr("checksum.inventory.connections.ClusterAdmin", partial(ClusterAdmin, timeout_s=1.0))
    status, said = typed("plan", config, "--all")
    assert status == 4
    assert "cluster A at 127.0.0.1:1: " in said
    assert "nothing listens there" in said


def test_a_property_that_java_does_not_know_is_status_2(typed, config, installed, tmp_path):
    path = tmp_path / "native.yaml"
    path.write_text(CONFIG.replace('"a:1"', '"a:1", socket.keepalive.enable: "true"'))
    status, said = typed("run", path, "--all")
    assert status == 2
    assert "clusters.A.socket.keepalive.enable: librdkafka property" in said


def test_what_a_plan_is_asked_for_is_passed_on(typed, config, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "mirrorwatch.checksums.plan.make_plans",
        lambda _session, chosen, **more: asked.append((chosen, more)) or 3,
    )
    status, _ = typed(
        "plan", config, "--flow", "A:B", "--topic", "x", "--topic", "y", "--out", "o", "--json", "j"
    )
    assert status == 3
    ((chosen, more),) = asked
    assert ([flow.name for flow in chosen.flows], chosen.patterns) == (["A->B"], ("x", "y"))
    assert {name: str(path) for name, path in more.items()} == {"out": "o", "json_file": "j"}


def test_what_a_run_is_asked_for_is_passed_on(typed, config, monkeypatch, installed):
    asked = []

    def run(_session, chosen, *, spark, json_file):
        asked.append((chosen.patterns, spark, json_file))
        return 1

    monkeypatch.setattr("mirrorwatch.checksums.run.run_all", run)
    status, _ = typed(
        "run", config, "--all", "--master", "spark://far:7077", "--folder", "hdfs:/x/",
        "--driver-memory", "3g",
    )  # fmt: skip
    assert status == 1
    ((patterns, spark, json_file),) = asked
    assert spark._settings.driver_memory == "3g"
    assert (patterns, json_file, spark._settings.master) == (None, None, "spark://far:7077")


@pytest.mark.parametrize("error", [UnavailableError("Spark did not start"), ConfigurationError([])])
def test_scratch_goes_and_what_java_shown_stays_where_it_helps(tmp_path, monkeypatch, installed, error):
    stage = Stage(tmp_path, {("orders", 0): mirrored()}, monkeypatch)
    seen = []

    def fail():
        with checksum_spark.spark_for(
            stage.session, master="local[1]", driver_memory="1g", folder=None
        ) as spark:
            log = spark._settings.folder / "spark.log"
            log.parent.mkdir()
            log.write_text("Exception in thread main\n")
            seen.append(log)
            raise error

    with pytest.raises(type(error)):
        fail()
    assert not seen[0].parent.parent.exists()
    if isinstance(error, ConfigurationError):
        assert "spark.log" not in stage.said
        return
    kept = stage.said.rsplit("Spark's log is in ", 1)[1].strip().rstrip(".")
    assert Path(kept).read_text() == "Exception in thread main\n"


def test_digests_of_a_run_are_kept_by_plan_and_side_where_a_folder_is_named(tmp_path, monkeypatch, installed):
    stage = Stage(tmp_path, {("orders", 0): mirrored()}, monkeypatch)
    plan = stage.clusters.plan()
    with checksum_spark.spark_for(
        stage.session, master="yarn", driver_memory="1g", folder="s3a://there/"
    ) as spark:
        assert spark.folder_of(plan, Side.TARGET) == f"s3a://there/{plan_id(plan)[:12]}/target"
    with checksum_spark.spark_for(stage.session, master="local", driver_memory="1g", folder=None) as spark:
        assert spark.folder_of(plan, Side.SOURCE).endswith(f"/digests/{plan_id(plan)[:12]}/source")


def test_counts_only_and_page_are_passed_on(typed, config, monkeypatch, installed, tmp_path):
    asked = []
    monkeypatch.setattr(
        "mirrorwatch.checksums.counts.count_all",
        lambda session, _chosen, **more: asked.append((len(session.outlets), more["json_file"])) or 3,
    )
    page = tmp_path / "page.html"
    # Counts are written to no folder, so that none is asked for.
    status, said = typed("run", config, "--all", "--counts-only", "--page", page, "--master", "yarn")
    assert (status, asked) == (3, [(1, None)]), said


@pytest.mark.parametrize("arguments", [("--page", "/no/such/folder/x.html"), ("--post", "http://here:9699")])
def test_an_outlet_that_can_never_be_used_is_status_2(typed, config, installed, monkeypatch, arguments):
    monkeypatch.delenv("MIRRORWATCH_TOKEN", raising=False)
    status, said = typed("run", config, "--all", *arguments)
    assert (status, arguments[0] in said) == (2, True), said


def test_a_page_and_a_document_in_one_file_are_status_2(typed, config, installed, tmp_path):
    status, said = typed("run", config, "--all", "--json", tmp_path / "x", "--page", tmp_path / "." / "x")
    assert (status, "--page: same file as --json; name another one" in said) == (2, True), said


@pytest.mark.parametrize("memory", [None, "3g"])
def test_print_submit_prints_the_line_and_nothing_else(typed, monkeypatch, tmp_path, memory):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my mirror.yaml").write_text(CONFIG)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setattr("checksum.spark.submit_line.find_spec", lambda _name: None)
    status, said = typed(
        "run", "my mirror.yaml", "--print-submit", "--topic", "-a b", "--topic", "c", "--counts-only",
        "--master", "spark://m:7077", "--page", "p.html", *(["--driver-memory", memory] if memory else []),
    )  # fmt: skip
    assert (status, said.count("\n")) == (0, 1)
    words = shlex.split(said)
    assert words[:7] == [
        "spark-submit", "--master", "spark://m:7077", "--driver-memory", memory or "1g",
        "--packages", f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pinned_version(requires('mirrorwatch'))}",
    ]  # fmt: skip
    script = words.index("checksum") - 1
    assert Path(words[script]).is_file()
    expected = [
        "checksum", "run", "my mirror.yaml", "--topic=-a b", "--topic=c", "--counts-only",
        "--master=spark://m:7077", "--page=p.html",
    ]  # fmt: skip
    assert sorted(words[script + 1 :]) == sorted(expected)
    # The words mean the same when they are typed again.
    again = [*words[script + 2 :], "--print-submit", *(["--driver-memory", memory] if memory else [])]
    assert shlex.split(typed(*again)[1]) == words


def test_print_submit_shows_what_another_master_needs(typed, config):
    status, said = typed("run", config, "--all", "--print-submit", "--master", "yarn")
    assert (status, "--folder: missing" in said) == (2, True)


def test_print_submit_prints_no_line_for_a_configuration_that_is_not_there(typed):
    status, said = typed("run", "nosuch.yaml", "--all", "--print-submit")
    assert (status, "nosuch.yaml: cannot be read" in said) == (2, True), said
    assert "spark-submit" not in said


def test_a_submitted_command_is_not_misled_by_the_names_of_our_modules(tmp_path):
    script = Path(checksum_spark.__file__).with_name("submitted.py")
    ended = subprocess.run(
        [sys.executable, script, "checksum", "plan", "nothing.yaml", "--all"],
        check=False, timeout=60, capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.startswith("nothing.yaml: cannot be read (no such file or directory)")


def test_whether_a_digest_may_be_in_a_folder_is_known_of_this_machine_s(tmp_path, monkeypatch, installed):
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    stage = Stage(tmp_path, {("orders", 0): mirrored()}, monkeypatch)
    for part in ("begun/cells", "whole/slices", "other/x"):
        (tmp_path / part).mkdir(parents=True)
    ring = tmp_path / "ring"
    ring.symlink_to(ring)
    with checksum_spark.spark_for(stage.session, master="local", driver_memory="1g", folder=None) as spark:
        asked = ("begun", f"file:{tmp_path}/whole", "other", "none", "x" * 500, "a\0b", "ring", "begun/x/y")
        assert [one for one in asked if spark.may_hold(one)] == ["begun", f"file:{tmp_path}/whole"]
        assert spark.may_hold("hdfs://there/none")  # only Spark can tell

        def refuse(*_args, **_others):
            raise PermissionError

        with monkeypatch.context() as closed:
            closed.setattr(Path, "stat", refuse)
            assert spark.may_hold("locked")  # its own rights may be others
