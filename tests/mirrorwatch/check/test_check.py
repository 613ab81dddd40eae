"""What `check` prints, with clusters that answer from a table; whole texts stand in golden_check.

After a wanted change of the text, delete the golden file, run the test twice, and read the difference: the
first run writes the file and fails.
"""

from __future__ import annotations

import asyncio
import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from fleet.errors import ConfigurationError, Problem, RefusedError, UnavailableError
from mirrorwatch.check.check import check, print_commands
from mirrorwatch.check.clusters import check_cluster
from mirrorwatch.configuration.reading import read_configuration
from runtime.kafka.admin import MAX_TOPICS, ClusterDescription, TopicDescription

GOLDEN = Path(__file__).parents[1] / "golden_check"

MM2 = r"""
clusters = A, B
A.bootstrap.servers = a1.example.org:9092, a2.example.org:9092
B.bootstrap.servers = b1.example.org:9093
B.security.protocol = SASL_SSL
B.sasl.mechanism = SCRAM-SHA-512
B.sasl.jaas.config = org.apache.kafka.common.security.scram.ScramLoginModule required \
  username="watcher" password="s3cret-of-b";
A->B.enabled = true
B->A.enabled = true
B->A.topics = orders.*
tasks.max = 4
dedicated.mode.enable.internal.rest = true
"""
YAML = """
mirror_version: "4.3"
clusters: {A: {bootstrap.servers: "a:9092"}, B: {bootstrap.servers: "b:9092"}}
flows: {A->B: {topics: "orders.*, mirrorwatch-canary"}}
"""


class Cluster:
    """Answers as a cluster with these topics, or fails with `error` when it is asked who it is."""

    def __init__(
        self,
        *topics,
        brokers=1,
        error=None,
        refused=(),
        partitions=3,
        settings=None,
        unread=(),
        leaders=None,
        cluster_id="",
    ):
        self.topics = topics
        self.brokers = brokers
        self.error = error
        self.refused = refused
        self.leaders = leaders or (0,) * partitions
        self.settings = settings or {}
        self.unread = unread
        self.closed = 0
        self.cluster_id = cluster_id

    async def open(self):
        pass

    async def close(self):
        self.closed += 1

    async def describe_cluster(self):
        if self.error is not None:
            raise self.error
        return ClusterDescription(self.cluster_id, tuple(range(self.brokers)))

    async def list_topics(self):
        return tuple(sorted(self.topics))

    async def describe_topics(self, names):
        found = {}
        for name in names:
            if name in self.refused:
                raise RefusedError(f"cluster B: describing the topic {name} failed: it is refused")
            there = name in self.topics
            found[name] = (
                TopicDescription(name, "id", self.leaders, (1,) * len(self.leaders)) if there else None
            )
        return found

    async def describe_topic_config(self, name):
        if name in self.unread:
            raise RefusedError(f"cluster A: reading the settings of the topic {name} failed: it is refused")
        return {"cleanup.policy": "delete", "retention.ms": "86400000"} | self.settings.get(name, {})


@pytest.fixture
def explain(tmp_path, monkeypatch):
    """Give a function that checks a configuration against such clusters: exit status and text."""
    monkeypatch.chdir(tmp_path)

    async def run(text, clusters=None, *, width=80, strict=False, as_json=False):
        path = written(text)
        for alias, cluster in (clusters or {}).items():
            cluster.cluster_id = cluster.cluster_id or f"Q0x3pl-{alias}"
        console = Console(file=io.StringIO(), width=width, color_system=None)
        code = await check(
            read_configuration(path, environ={}),
            console=console,
            connect=clusters is not None,
            strict=strict,
            as_json=as_json,
            ask=lambda alias, _: clusters[alias],
        )
        return code, console.file.getvalue()

    return run


def written(text):
    Path("mm2.properties").write_text(MM2, encoding="utf-8")
    path = Path("mirrorwatch.yml" if "flows:" in text else "mm2.properties")
    path.write_text(text, encoding="utf-8")
    return path


def commands_of(text, *, principal="User:mirrorwatch", parts=("service", "checksum"), strict=False):
    """Return exit status, commands and what is wrong, as `check --acls` prints them."""
    console, errors = (Console(file=io.StringIO(), width=80, color_system=None) for _ in range(2))
    code = print_commands(
        read_configuration(written(text), environ={}),
        console=console,
        errors=errors,
        principal=principal,
        command_config="admin.properties",
        parts=parts,
        strict=strict,
    )
    return code, console.file.getvalue(), errors.file.getvalue()


def flat(text):
    return re.sub(r"\s+", " ", text)


def same_as(name, text):
    path = GOLDEN / f"{name}.txt"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{path.name} was not there and is written now: read it")
    assert text == path.read_text(encoding="utf-8")


async def test_a_mirror_file_as_it_is_with_every_kind_of_topic(explain):
    a = Cluster(
        *("orders", "payments", "heartbeats", "my.replica", "other.replica"),
        *("__consumer_offsets", "mm2-offset-syncs.B.internal", "__mirrorwatch-control"),
        *("B.orders", "B.orders.eu", "B.native", "C.elsewhere", "stock.internal", "__hidden"),
        *(f"bulk-{number:02}" for number in range(30)),
        brokers=3,
    )
    b = Cluster("orders", "A.orders", "A.payments", *(f"A.bulk-{number:02}" for number in range(28)))
    code, text = await explain(MM2, {"A": a, "B": b})
    same_as("mirror_file", text)
    assert code == 0
    assert a.closed == b.closed == 1
    assert "s3cret-of-b" not in text


async def test_one_cluster_is_away(explain):
    away = Cluster(
        error=UnavailableError("cluster B at b:9092: describing the cluster failed: nothing listens")
    )
    code, text = await explain(YAML, {"A": Cluster("orders", "x", brokers=2), "B": away})
    same_as("one_away", text)
    assert code == 4
    assert away.closed == 1


async def test_one_cluster_under_two_names_is_reported(explain):
    one = {"A": Cluster(cluster_id="Zm9v"), "B": Cluster(cluster_id="Zm9v")}
    assert "A, B all have the id Zm9v, so they are one cluster." in flat((await explain(YAML, one))[1])
    two = {"A": Cluster(), "B": Cluster(error=UnavailableError("B is away"))}
    assert "one cluster" not in (await explain(YAML, two))[1]


async def test_empty_clusters_and_topics_that_have_to_be_made_by_hand(explain):
    text = YAML + "canary: {mode: precreated}\n"
    code, text = await explain(text, {"A": Cluster(), "B": Cluster()})
    same_as("empty_precreated", text)
    assert code == 3


async def test_no_one_is_asked_without_a_connection(explain):
    code, text = await explain(YAML + "canary: {mode: 'off'}\nlag: {commits: 'off'}\n")
    same_as("not_connected", text)
    assert code == 0


async def test_without_the_lag_monitor_check_asks_for_its_list_of_topics(explain):
    off = YAML + "lag: {commits: 'off'}\n"
    said, usual = flat((await explain(off))[1]), flat((await explain(YAML))[1])
    assert "To list every topic, check also requires Describe on all topics" in said
    assert "check also requires" not in usual
    assert "__consumer_offsets" in usual
    assert "__consumer_offsets" not in said
    assert commands_of(off)[1].count("# Optional, for the list of topics in check:") == 2


async def test_a_topic_among_the_permissions_is_named_whole(explain):
    _, text = await explain(YAML)
    assert re.search(r"^ A +mm2-offset-syncs\.B\.internal +Read +offset syncs of", text, re.MULTILINE)
    assert re.search(r"^ +A->B$", text, re.MULTILINE)  # folded, and nothing of it is cut off


async def test_who_may_not_read_commits_is_reported_what_is_done_instead(explain):
    said = flat((await explain(YAML))[1])
    assert "If Mirrorwatch may not read __consumer_offsets, it polls group offsets with the Admin API" in said
    assert "With lag: {commits: off} the lag monitor is off" in said
    by_admin = flat((await explain(YAML + "lag: {commits: admin}\n"))[1])
    assert "may not be read" not in by_admin


async def test_every_warning_is_reported_whole(explain):
    unread = MM2 + "offset.flush.interval.ms = 1000\n"
    _, text = await explain(unread)
    assert "Warnings (2)" in text
    assert "mm2.properties:14: offset.flush.interval.ms: is ignored here" in flat(text)
    assert "B->A.topics = orders.*, mirrorwatch-canary" in flat(text)
    assert "See 2 warnings above." in flat(text)


async def test_a_refusal_is_reported_and_the_rest_is_still_shown(explain):
    a = Cluster("orders", "mirrorwatch-canary", partitions=2, brokers=3)
    b = Cluster("A.orders", refused=("A.mirrorwatch-canary",))
    code, text = await explain(YAML, {"A": a, "B": b})
    assert code == 4
    assert "cluster B: describing the topic A.mirrorwatch-canary failed: it is refused" in flat(text)
    assert "orders as A.orders" in text
    assert "mirrorwatch-canary, exists with 2 partitions." in flat(text)
    assert "mirrorwatch-canary on A has 2 partitions; 3 would cover" in flat(text)
    assert "FAILED: B cannot be reached or refused a request" in flat(text)


async def test_what_is_wrong_with_topics_is_reported_with_what_to_do(explain):
    a = Cluster(
        *("orders", "mirrorwatch-canary", "__mirrorwatch-control"),
        brokers=2,
        partitions=2,
        settings={"mirrorwatch-canary": {"retention.ms": "1000", "max.message.bytes": "100"}},
    )
    b = Cluster(
        "A.mirrorwatch-canary",
        brokers=3,
        leaders=(0, 2),
        settings={"A.mirrorwatch-canary": {"min.insync.replicas": "2"}},
    )
    code, text = await explain(YAML, {"A": a, "B": b})
    said = flat(text)
    assert code == 1
    assert "Topics to fix (4)" in said
    assert "mirrorwatch-canary on A has 2 partitions; 3 would cover" in said
    assert "mirrorwatch-canary on A refuses probes: max.message.bytes is 100" in said
    assert "mirrorwatch-canary on A keeps records for only 1 s (retention.ms=1000)" in said
    assert "A.mirrorwatch-canary on B requires 2 replicas in sync" in said
    assert "not probed: broker 1 of A; no partition of mirrorwatch-canary" in said
    assert "not probed: broker 1 of B; no partition of A.mirrorwatch-canary" in said
    assert "FAILED: 2 topic settings break the canary; see Topics to fix." in said


async def test_a_setting_that_spoils_the_canary_goes_before_what_is_incomplete(explain):
    wrong = {"mirrorwatch-canary": {"max.message.bytes": "100"}}
    a = Cluster(
        "mirrorwatch-canary", "__mirrorwatch-control", settings=wrong, unread=("__mirrorwatch-control",)
    )
    away = Cluster(error=UnavailableError("cluster B: nothing listens"))
    code, text = await explain(YAML, {"A": a, "B": away})
    assert code == 1
    assert "FAILED: 1 topic setting breaks the canary" in flat(text)
    assert "Incomplete: settings of topics on A cannot be read." in flat(text)
    unfit = ConfigurationError([Problem("cluster B", "", "the Kafka client rejects its settings")])
    code, _ = await explain(YAML, {"A": a, "B": Cluster(error=unfit)})
    assert code == 2


async def test_fewer_partitions_than_planned_are_reported_and_harm_nothing(explain):
    a = Cluster("mirrorwatch-canary", brokers=3, leaders=(0, 1))
    code, text = await explain(YAML, {"A": a, "B": Cluster()})
    assert code == 0
    assert "See 1 remark about topics above." in flat(text)
    code, text = await explain(YAML + "canary: {grow: true}\n", {"A": a, "B": Cluster()})
    assert code == 0
    assert "Topics to fix" not in text


async def test_settings_that_may_not_be_read_are_named_and_the_rest_is_checked(explain):
    a = Cluster("mirrorwatch-canary", unread=("mirrorwatch-canary",), brokers=4)
    code, text = await explain(YAML, {"A": a, "B": Cluster()})
    assert code == 3
    assert "A refuses to show topic settings: the DescribeConfigs permission is missing" in flat(text)
    assert "Incomplete: settings of topics on A cannot be read." in flat(text)
    assert "mirrorwatch-canary on A has 3 partitions; 4 would cover" in flat(text)


CHAIN = """
mirror_version: "4.3"
clusters: {A: {bootstrap.servers: "a:9092"}, B: {bootstrap.servers: "b:9092"}, C: {bootstrap.servers: "c:9092"}}
flows: {A->B: {}, B->C: {}}
"""


async def test_every_hop_of_a_chain_is_paid_for(explain):
    _, text = await explain(CHAIN, {"A": Cluster(), "B": Cluster(), "C": Cluster()})
    said = flat(text)
    assert "A->B: A.mirrorwatch-canary on B, 1 record/s" in said
    assert "A->B->C: B.A.mirrorwatch-canary on C by B->C, 1 record/s" in said
    assert re.search(r" A->B +1 +0 +34\.\d MB\n", text)
    assert re.search(r" B->C +2 +1 +69\.\d MB\n", text)
    assert re.search(r" C +69\.\d MB +69\.\d MB +86\.\d MB\n", text)
    assert "3 records/s mirrored over all hops" in said


async def test_more_probes_than_the_greatest_rate_are_reported(explain):
    _, text = await explain(YAML + "canary: {max_rate: 1}\n", {"A": Cluster(brokers=3), "B": Cluster()})
    assert "A probe every 3 s into each partition" in flat(text)
    assert "3 partitions every 1 s are more than 1 probe a second (canary.max_rate)" in flat(text)


async def test_settings_that_the_client_refuses_are_bad_configuration(explain):
    error = ConfigurationError([Problem("cluster B", "", "the Kafka client rejects its settings")])
    code, text = await explain(YAML, {"A": Cluster(), "B": Cluster(error=error)})
    assert code == 2
    assert "cluster B: the Kafka client rejects its settings" in text


async def test_a_list_that_was_cut_off_is_incomplete_even_where_another_cluster_is_away(explain):
    full = Cluster(*(f"orders-{number}" for number in range(MAX_TOPICS)))
    for topic in ("mirrorwatch-canary", "__mirrorwatch-control"):
        assert topic not in full.topics
    away = Cluster(error=UnavailableError("cluster A: nothing listens"))
    code, text = await explain(YAML, {"A": away, "B": full})
    assert code == 3
    assert "Incomplete: not all topics of B are checked" in flat(text)


async def test_five_thousand_topics_make_a_short_text(explain):
    a = Cluster(*(f"orders-{number}" for number in range(5000)), *(f"B.x{number}" for number in range(300)))
    code, text = await explain(YAML.replace("orders.*", ".*"), {"A": a, "B": Cluster()})
    assert code == 0
    assert "and 4,980 more" in text
    assert "and 280 more" in text
    assert len(text.splitlines()) < 190


@pytest.mark.parametrize(
    ("version", "traps", "unsure"),
    [("3.9", ["stock.internal on A is never mirrored"], False), ("4.3", [], False), (None, [], True)],
)
async def test_a_name_on_which_versions_differ(explain, version, traps, unsure):
    written = YAML.replace('mirror_version: "4.3"', f'mirror_version: "{version}"' if version else "")
    _, text = await explain(
        written.replace("orders.*", ".*"), {"A": Cluster("stock.internal"), "B": Cluster()}
    )
    found = flat(text)
    assert [trap for trap in traps if trap not in found] == []
    assert ("It depends on MirrorMaker's version. 3.x: stock.internal on A is never" in found) is unsure
    assert ("stock.internal as A.stock.internal" in found) is (version == "4.3")


def test_what_steers_a_terminal_or_is_markup_is_only_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, text, _ = commands_of(YAML, principal="User:[red]x\x1b[31m")
    assert "[red]x" in text
    assert "\x1b" not in text


async def test_an_output_that_holds_only_ascii(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = written(YAML.replace("A", "Ä"))
    console = Console(
        file=io.TextIOWrapper(raw := io.BytesIO(), encoding="ascii"), width=80, color_system=None
    )
    config = read_configuration(path, environ={})
    assert await check(config, console=console, connect=False) == 0
    console.file.flush()
    assert b"?->B" in raw.getvalue()


@pytest.mark.parametrize("width", [20, 80, 200])
async def test_no_line_of_prose_is_wider_than_what_there_is(explain, width):
    _, text = await explain(YAML, {"A": Cluster("orders"), "B": Cluster()}, width=width)
    widest = max(40, min(width, 100))
    assert [line for line in text.splitlines() if len(line) > widest and " " in line.strip()] == []


async def test_a_cluster_that_never_answers_has_a_limit():
    class Silent(Cluster):
        async def list_topics(self):
            await self.forever.wait()

    silent = Silent()
    silent.forever = asyncio.Event()
    found = await check_cluster("A", silent, ["t"], limit_s=0.01)
    assert found.description is not None  # what had come before is kept
    assert str(found.errors[0]) == "cluster A: no complete answer within 0.01 s; the rest is not checked"
    assert silent.closed == 1
