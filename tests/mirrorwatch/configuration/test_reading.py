"""What a configuration comes to: defaults, what is laid over the mirror's file, paths, secrets, warnings."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from canary.config import CanaryConfig
from fleet.errors import ConfigurationError
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.configuration.text import MAX_BYTES
from runtime.config.sections import HttpConfig
from tests.runtime.certificates import write_pair

MM2 = """\
clusters = A, B
A.bootstrap.servers = a:9092
B.bootstrap.servers = b:9092
A->B.enabled = true
"""
ORDINARY = """\
# What a MirrorMaker of three nodes may be run with.
clusters = primary, backup
primary.bootstrap.servers = p1:9092, p2:9092
backup.bootstrap.servers = b1:9092, b2:9092
primary->backup.enabled = true
primary->backup.topics = .*
backup->primary.enabled = false
replication.factor = 3
tasks.max = 4
checkpoints.topic.replication.factor = 3
heartbeats.topic.replication.factor = 3
offset-syncs.topic.replication.factor = 3
offset.storage.replication.factor = 3
status.storage.replication.factor = 3
config.storage.replication.factor = 3
sync.topic.acls.enabled = false
refresh.topics.interval.seconds = 60
sync.group.offsets.enabled = true
client.id = mm2
acks = all
compression.type = lz4
retry.backoff.ms = 500
primary.client.id = mm2-primary
primary.metrics.num.samples = 3
primary.consumer.max.poll.records = 2000
backup.producer.batch.size = 100000
backup.offset.flush.interval.ms = 10000
security.protocol = PLAINTEXT
"""


def read(folder, files, *, environ=None):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return read_configuration(folder / next(iter(files)), environ=environ or {})


def problems(folder, files, **more):
    with pytest.raises(ConfigurationError) as refusal:
        read(folder, files, **more)
    return [str(problem).replace(f"{folder}/", "") for problem in refusal.value.problems]


@pytest.mark.parametrize("name", ["mm2.properties", "connect-mirror-maker.PROPERTIES"])
def test_a_bare_mm2_file_is_enough(tmp_path, name):
    config = read(tmp_path, {name: MM2})
    assert [(flow.name, flow.off) for flow in config.canary_flows] == [("A->B", "")]
    assert (config.canary, config.http) == (CanaryConfig(), HttpConfig())
    assert config.store.database_url(config.directory).database == str(tmp_path / "mirrorwatch.db")
    assert config.clients["A"].librdkafka["bootstrap.servers"] == "a:9092"
    assert config.warnings == ()
    assert config.mm2_path == tmp_path / name


def test_an_ordinary_mm2_file_gives_no_warning_worth_reading_at_each_start(tmp_path):
    config = read(tmp_path, {"mm2.properties": ORDINARY})
    assert config.worth_reading == ()
    assert config.remarks == set(config.warnings)
    assert [warning.key for warning in config.warnings] == [
        "client.id",
        "acks",
        "compression.type",
        "retry.backoff.ms",
        "dedicated.mode.enable.internal.rest",
    ]


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("topcs = orders", "topcs"),
        ("A->C.enabled = true", "A->C.enabled"),
        ("C.bootstrap.servers = c:9092", "C.bootstrap.servers"),
        ("A->B.topics.blacklist = x", "A->B.topics.blacklist"),
        ("A->B.bootstrap.servers = c:9092", "A->B.bootstrap.servers"),
        ("A->B.topics = other", "A->B.topics"),
    ],
)
def test_what_changes_what_is_watched_is_worth_reading(tmp_path, line, key):
    config = read(tmp_path, {"mm2.properties": MM2 + "A->B.topics = .*\n" + line + "\n"})
    told = [warning for warning in config.worth_reading if not warning.sentence.startswith("no canary")]
    assert [warning.key for warning in told] == [key]


def test_clusters_are_laid_over_the_mm2_file_key_by_key(tmp_path):
    mirror = (
        MM2
        + 'B.security.protocol = SASL_SSL\nB.sasl.mechanism = PLAIN\nB.sasl.jaas.config = x.PlainLoginModule required username="mm2" password="theirs-1234";\n'
    )
    ours = """\
mm2: mm2.properties
clusters:
  B: {sasl.jaas.config: "${env:JAAS}"}
"""
    jaas = (
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="mw" password="ours-5678";'
    )
    config = read(tmp_path, {"mirrorwatch.yaml": ours, "mm2.properties": mirror}, environ={"JAAS": jaas})
    client = config.clients["B"].librdkafka
    assert client["bootstrap.servers"] == "b:9092"
    assert (client["security.protocol"], client["sasl.username"]) == ("sasl_ssl", "mw")
    assert client["sasl.password"] == "ours-5678"
    assert {jaas, "ours-5678"} <= config.secrets
    assert "ours-5678" not in repr(config)


def test_a_path_is_relative_to_the_file_in_which_it_stands(tmp_path):
    write_pair(tmp_path, "ca")
    pem = (tmp_path / "ca.crt").read_bytes()
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "theirs.pem").write_bytes(pem)
    (tmp_path / "ours.pem").write_bytes(pem)
    tls = "{0}.security.protocol = SSL\n{0}.ssl.truststore.type = PEM\n"
    mirror = MM2 + tls.format("A") + tls.format("B") + "A.ssl.truststore.location = theirs.pem\n"
    mirror += "B.ssl.truststore.location = theirs.pem\n"
    ours = "mm2: mirror/mm2.properties\nclusters:\n  B: {ssl.truststore.location: ours.pem}\n"
    config = read(tmp_path, {"mirrorwatch.yaml": ours, "mirror/mm2.properties": mirror})
    assert all("BEGIN CERTIFICATE" in config.clients[alias].librdkafka["ssl.ca.pem"] for alias in "AB")
    (tmp_path / "ours.pem").unlink()
    (tmp_path / "mirror" / "theirs.pem").unlink()
    assert problems(tmp_path, {"mirrorwatch.yaml": ours}) == [
        f"mirror/mm2.properties:9: A.ssl.truststore.location: file '{tmp_path}/mirror/theirs.pem' does not exist; check the path".replace(
            f"{tmp_path}/", ""
        ),
        "mirrorwatch.yaml:3: clusters.B.ssl.truststore.location: file 'ours.pem' does not exist; check the path",
    ]


def test_providers_of_the_mm2_file_are_read_beside_it_and_what_they_give_is_kept_secret(tmp_path):
    package = "org.apache.kafka.common.config.provider."
    mirror = MM2 + (
        f"config.providers = env, file\nconfig.providers.env.class = {package}EnvVarConfigProvider\n"
        f"config.providers.file.class = {package}FileConfigProvider\n"
        "A.security.protocol = SASL_PLAINTEXT\nA.sasl.mechanism = ${env:MECHANISM}\n"
        "A.sasl.jaas.config = ${file:secrets.properties:jaas}\n"
    )
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="pass-word-1";'
    files = {"mm2.properties": mirror, "secrets.properties": f"jaas={jaas}\n"}
    config = read(tmp_path, files, environ={"MECHANISM": "PLAIN"})
    assert config.clients["A"].librdkafka["sasl.password"] == "pass-word-1"
    assert {jaas, "pass-word-1"} <= config.secrets


@pytest.mark.parametrize("content", [b"jaas=\xff\xfe", b"\x00" * 10])
def test_a_provider_s_file_that_is_no_text_is_a_sentence(tmp_path, content):
    (tmp_path / "secrets.properties").write_bytes(content)
    package = "org.apache.kafka.common.config.provider."
    mirror = MM2 + (
        f"config.providers = file\nconfig.providers.file.class = {package}FileConfigProvider\n"
        "A.sasl.jaas.config = ${file:secrets.properties:jaas}\n"
    )
    (said,) = problems(tmp_path, {"mm2.properties": mirror})
    assert said.startswith("mm2.properties:7: A.sasl.jaas.config: ")
    assert "secrets.properties" in said


def test_a_flow_that_the_mm2_file_does_not_enable_is_another_mirrors(tmp_path):
    ours = "mm2: mm2.properties\nflows:\n  B->A: {topics: x}\nclusters:\n  C: {bootstrap.servers: 'c:1'}\n"
    config = read(tmp_path, {"mirrorwatch.yaml": ours, "mm2.properties": MM2})
    assert [flow.name for flow in config.topology.flows] == ["A->B", "B->A"]
    cluster, other, canary = (str(warning).replace(f"{tmp_path}/", "") for warning in config.warnings)
    assert (
        cluster == "mirrorwatch.yaml:5: clusters.C: not part of a flow; only its consumer groups are watched"
    )
    assert other == (
        "mirrorwatch.yaml:3: flows.B->A: not enabled in mm2.properties; it is watched as a flow of another"
        " mirror"
    )
    assert canary == (
        "mirrorwatch.yaml:3: flows.B->A: no canary: mirrorwatch-canary on B is not mirrored B->A because no entry"
        " of topics ('x') matches it; if the mirror replicates it, set in Mirrorwatch's configuration:"
        ' flows.B->A.topics: "x, mirrorwatch-canary"'
    )


def test_a_note_of_the_clients_is_a_warning_with_file_and_key(tmp_path):
    ours = "clusters:\n  A: {bootstrap.servers: 'a:1', client.id: mine}\n  B: {bootstrap.servers: 'b:1'}\nflows:\n  A->B:\n"
    ours = ours.replace("A->B:\n", "A->B: {}\n")
    (warning,) = read(tmp_path, {"mirrorwatch.yaml": ours}).warnings
    assert (warning.file, warning.key) == (f"{tmp_path}/mirrorwatch.yaml:2", "clusters.A.client.id")
    assert warning.sentence.startswith("is ignored: ")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "x.yaml",
            b"\x7fELF\0\0\1",
            "binary file; name a YAML file or an mm2.properties",
        ),
        (
            "x.properties",
            b"clusters=A\0",
            "binary file; name a YAML file or an mm2.properties",
        ),
        ("x.yaml", b"a: \xff\n", "not UTF-8 text; save the file as UTF-8"),
        (
            "x.yaml",
            "kind: List\n".encode("utf-16"),
            "UTF-16 text, as PowerShell writes it; save the file as UTF-8",
        ),
        (
            "x.yaml",
            b"#" * (MAX_BYTES + 1),
            "larger than 1 MB, the limit for a configuration; check the path",
        ),
        (
            "x.properties",
            b"#" * (MAX_BYTES + 1),
            "is longer than 1000000 characters; not an mm2.properties file.",
        ),
    ],
)
def test_what_is_no_text_or_far_too_long(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ConfigurationError) as refusal:
        read_configuration(path, environ={})
    assert str(refusal.value).split(": ", 1)[1] == said


@pytest.mark.parametrize("name", ["x.yaml", "x.properties"])
def test_a_file_that_is_not_there_a_directory_and_a_file_of_others(tmp_path, name):
    path = tmp_path / name
    for sentence, prepare in (
        ("cannot be read (no such file or directory); check the path", lambda: None),
        ("is a directory; name a file in it", path.mkdir),
    ):
        prepare()
        with pytest.raises(ConfigurationError) as refusal:
            read_configuration(path, environ={})
        assert str(refusal.value) == f"{path}: {sentence}"


def test_a_configuration_may_come_through_a_pipe(tmp_path):
    path = tmp_path / "pipe.yaml"
    os.mkfifo(path)
    text = "clusters:\n  A: {bootstrap.servers: 'a:1'}\n  B: {bootstrap.servers: 'b:1'}\nflows:\n  A->B: {}\n"
    writer = threading.Thread(target=path.write_text, args=(text,))
    writer.start()
    assert [flow.name for flow in read_configuration(path, environ={}).canary_flows] == ["A->B"]
    writer.join()


@pytest.mark.parametrize(("clusters", "length"), [(50, 5000)])
def test_a_large_mirror_is_read_in_seconds(tmp_path, clusters, length):
    aliases = [f"C{number}" for number in range(clusters)]
    lines = [f"clusters = {', '.join(aliases)}", "emit.heartbeats.enabled = false"]
    lines += [f"{alias}.bootstrap.servers = {alias.lower()}:9092" for alias in aliases]
    lines += [f"{aliases[0]}->{other}.enabled = true" for other in aliases[1:]]
    flow = f"{aliases[0]}->{aliases[1]}"
    lines += [f"{flow}.transforms.t{number}.type = T" for number in range(length - len(lines))]
    path = tmp_path / "mm2.properties"
    path.write_text("\n".join(lines) + "\n")
    began = time.perf_counter()
    config = read_configuration(path, environ={})
    took_s = time.perf_counter() - began
    assert len(config.canary_flows) == clusters - 1
    assert took_s < 15  # a guard against what grows with the square, on a machine that is busy


def test_the_full_example_of_the_documentation_is_read_as_it_stands(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
    example = page.split("```yaml\n", 1)[1].split("```", 1)[0]
    (tmp_path / "web.yml").write_text(
        'basic_auth_users: {admin: "$2b$12$hNf2lSsxfm0.i4a.1kVpSOVyBCfIB51VRjgBUyv6kdnyTlgWj81Ay"}\n'
    )
    environ = {"MW_AUDIT": "audit-token", "MW_OPERATOR": "operator-token", "MW_B_PASSWORD": "password-of-b"}
    config = read(tmp_path, {"mirrorwatch.yaml": example, "mm2.properties": MM2}, environ=environ)
    assert [flow.name for flow in config.canary_flows] == ["A->B"]
    assert config.warnings == ()
    assert config.http.external_url == "https://mirrorwatch.example.org"
    assert config.web_config.users is not None
    assert list(config.web_config.users) == ["admin"]
    assert "hNf2lSsx" not in repr(config)


def test_objectives_are_those_that_are_listed_else_defaults(tmp_path):
    plain = read(tmp_path, {"mirrorwatch.yaml": "mm2: mm2.properties\n", "mm2.properties": MM2})
    assert {one.kind.value for one in plain.objectives} == {
        "availability",
        "freshness",
        "loss",
        "recovery_point",
    }
    ours = """mm2: mm2.properties
objectives:
  - {kind: freshness, target: 99.5, period: 30d}
links: {grafana: "https://grafana.example/"}
"""
    config = read(tmp_path, {"mirrorwatch.yaml": ours, "mm2.properties": MM2})
    (objective,) = config.objectives
    assert (objective.flow, objective.target_ratio, objective.period_s) == ("A->B", 0.995, 30 * 86_400)
    assert config.links.grafana == "https://grafana.example"
    assert config.flow_facts[0].probes_per_s >= 1


def test_problems_of_objectives_name_their_line(tmp_path):
    ours = """mm2: mm2.properties
objectives:
  - kind: freshness
    target: 100
  - {flow: "A->C", kind: loss}
links: {grafana: nowhere}
"""
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, {"mirrorwatch.yaml": ours, "mm2.properties": MM2})
    told = [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]
    assert any(line.startswith("mirrorwatch.yaml:4: objectives.0.target: ") for line in told), told
    assert "mirrorwatch.yaml:5: objectives.1.flow: unknown flow 'A->C'; did you mean 'A->B'?" in told
    assert any("links.grafana: invalid address 'nowhere'" in line for line in told), told


def ring(*flows, canary="{}"):
    aliases = sorted({alias for flow in flows for alias in flow.split(":")[0].split("->")})
    lines = ["mirror_version: '4.3'", f"canary: {canary}", "clusters:"]
    lines += [f"  {alias}: {{bootstrap.servers: '{alias.lower()}:1'}}" for alias in aliases]
    lines.append("flows:")
    lines += [f"  {name}: {{policy: {policy}}}" for name, policy in (flow.split(":") for flow in flows)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("flows", "rounds"),
    [
        (("A->B:identity", "B->A:default"), []),  # it gets a longer name with each round, and no end in sight
        (("A->B:identity", "B->C:identity", "C->A:default"), []),
        (("A->B:identity", "B->C:identity", "C->D:identity"), []),
        (("B->C:identity", "C->A:identity", "A->B:identity"), ["B -> C -> A -> B"]),
        (("A->B:identity", "B->C:identity", "C->B:identity"), ["B -> C -> B"]),
        (
            ("A->B:identity", "B->A:identity", "C->D:identity", "D->C:identity", "A->C:identity"),
            ["A -> B -> A", "C -> D -> C"],
        ),
    ],
)
def test_each_round_under_one_name_is_refused_once_with_its_path(tmp_path, flows, rounds):
    text = ring(*flows)
    if not rounds:
        assert len(read(tmp_path, {"mirrorwatch.yaml": text}).canary_flows) == len(flows)
        return
    said = problems(tmp_path, {"mirrorwatch.yaml": text})
    assert [sentence.split("in a loop (")[1].split(")")[0] for sentence in said] == rounds
    assert [sentence.split(": ")[1] for sentence in said] == [
        f"flows.{'->'.join(path.split(' -> ')[:2])}" for path in rounds
    ]
    off = ring(*flows, canary="{mode: off}")
    assert len(read(tmp_path, {"mirrorwatch.yaml": off}).canary_flows) == len(flows)


def test_a_mesh_is_read_at_once_whatever_its_policy(tmp_path):
    aliases = "ABCDEFGHIJ"
    pairs = [f"{a}->{b}" for a in aliases for b in aliases if a != b]
    mesh = ring(*(f"{pair}:default" for pair in pairs))
    assert len(read(tmp_path, {"mirrorwatch.yaml": mesh}).canary_flows) == 90
    said = problems(tmp_path, {"mirrorwatch.yaml": ring(*(f"{pair}:identity" for pair in pairs))})
    assert len(said) == 45  # the shortest rounds, one for each pair


def test_settings_of_a_flow_keep_their_neighbours_in_the_mirrors_file(tmp_path):
    ours = "mm2: mm2.properties\nflows:\n  A->B: {topics: 'orders.*', separator: _}\n"
    theirs = MM2 + "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
    config = read(
        tmp_path, {"mirrorwatch.yaml": ours, "mm2.properties": theirs + "topics.exclude = orders-old\n"}
    )
    (flow,) = config.topology.flows
    assert (flow.policy.kind.value, flow.policy.separator) == ("identity", "_")
    assert (flow.decide("orders-old").replicated, flow.decide("orders-new").replicated) == (False, True)


def test_doubtful_lists_of_topics_are_warnings(tmp_path):
    ours = "mm2: mm2.properties\nflows:\n  A->B:\n    topics: mirrorwatch-canary, a b\n"
    theirs = MM2 + "A->B.topics.exclude = \\\\p{IsGreek}\n"
    config = read(tmp_path, {"mirrorwatch.yaml": ours, "mm2.properties": theirs})
    blank, exclusion = (str(warning).replace(f"{tmp_path}/", "") for warning in config.warnings)
    assert blank == (
        "mirrorwatch.yaml:4: flows.A->B.topics: the entry 'a b' matches no topic; separate its parts by commas"
    )
    assert exclusion.startswith(
        "mirrorwatch.yaml:4: flows.A->B.topics: the exclusion in the mirror's configuration is not used:"
        " A->B.topics.exclude: "
    )
    assert exclusion.endswith("; excluded topics count as replicated")


def test_headers_that_the_mirror_adds_reach_the_canary(tmp_path):
    ours = "mm2: mm2.properties\nchecksum: {exclude_headers: [trace-id]}\n"
    config = read(tmp_path, {"mirrorwatch.yaml": ours, "mm2.properties": MM2})
    assert {flow.added_headers for flow in config.canary_flows} == {frozenset({"trace-id"})}
