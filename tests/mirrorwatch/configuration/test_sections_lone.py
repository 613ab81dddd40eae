"""Clusters that no flow touches: which are read, which stop nothing, and what is said of them."""

from __future__ import annotations

import pytest

from tests.mirrorwatch.configuration.test_reading import MM2, problems, read

THREE = MM2.replace("A, B", "A, B, C")
NO_BROKER = "C.bootstrap.servers: missing; name at least one broker as host:port"
NO_FILE = "mm2.properties:7: C.ssl.keystore.location: file '/no/such/file.jks' does not exist; check the path"
TLS = "C.bootstrap.servers = c:9092\nC.security.protocol = SSL\nC.ssl.keystore.location = /no/such/file.jks\n"
UNTIL = "; until then the groups of C are not watched"


def warnings(config, folder):
    return [str(warning).replace(f"{folder}/", "") for warning in config.worth_reading]


@pytest.mark.parametrize(
    ("more", "said"), [("", f"mm2.properties: {NO_BROKER}"), (TLS, NO_FILE)], ids=["no broker", "no file"]
)
def test_one_of_the_mirror_s_file_that_cannot_be_read_stops_nothing(tmp_path, more, said):
    config = read(tmp_path, {"mm2.properties": THREE + more})
    assert (set(config.clients), config.lone) == ({"A", "B"}, ())
    assert set(config.burrow_names) == {"A", "B"}
    assert warnings(config, tmp_path) == [said + UNTIL]


def test_what_is_said_of_it_holds_no_secret(tmp_path):
    package = "org.apache.kafka.common.config.provider."
    more = (
        f"config.providers = env\nconfig.providers.env.class = {package}EnvVarConfigProvider\n"
        "C.bootstrap.servers = ${env:BROKERS}\n"
    )
    config = read(tmp_path, {"mm2.properties": THREE + more}, environ={"BROKERS": "hunter2secret"})
    (warning,) = warnings(config, tmp_path)
    assert warning.startswith("mm2.properties:7: C.bootstrap.servers: invalid broker address '***'")


@pytest.mark.parametrize(
    "ours",
    [
        "clusters: {C: {client.id: mine}}\n",  # who names it wants it
        "clusters: {C: {}}\n",
        "flows: {A->C: {}}\n",
        "flows: {A->B: {offsets: {topic: t, kafka_cluster: C}}}\n",
    ],
)
def test_one_that_is_named_by_us_or_needed_by_a_flow_has_to_be_right(tmp_path, ours):
    files = {"mirrorwatch.yaml": f"mm2: mm2.properties\n{ours}", "mm2.properties": THREE}
    (said,) = problems(tmp_path, files)
    assert said.endswith(f"clusters.{NO_BROKER}")


def test_without_a_lag_monitor_it_is_not_even_looked_at(tmp_path):
    files = {"mirrorwatch.yaml": "mm2: mm2.properties\nlag: {commits: 'off'}\n", "mm2.properties": THREE}
    assert warnings(read(tmp_path, files), tmp_path) == []


CLUSTERS = "".join(f"  {alias}: {{bootstrap.servers: '{alias}:1'}}\n" for alias in "ABC")
OURS = f"clusters:\n{CLUSTERS}flows:\n  A->B: {{topics: '.*'%s}}\n"


@pytest.mark.parametrize(
    ("of_flow", "more", "fate"),
    [
        ("", "", "only its consumer groups are watched"),
        (
            ", offsets: {topic: t, kafka_cluster: C}",
            "",
            "only its consumer groups and the offsets of A->B are watched",
        ),
        (", offsets: {topic: t, kafka_cluster: C}", "lag: {commits: 'off'}\n", "it is not used"),
    ],
)
def test_one_that_is_named_is_told_with_what_is_read_there(tmp_path, of_flow, more, fate):
    config = read(tmp_path, {"mirrorwatch.yaml": OURS % of_flow + more})
    said = f"mirrorwatch.yaml:4: clusters.C: not part of a flow; {fate}"
    assert warnings(config, tmp_path) == [said]
