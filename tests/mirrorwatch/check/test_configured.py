"""Who we come as and which mirror file was read, as far as the configuration tells it."""

from __future__ import annotations

import pytest

from mirrorwatch.check.configured import principal_of, store_warnings
from mirrorwatch.configuration.reading import read_configuration
from runtime.kafka.properties.client_settings import ClientSettings

SCRAM = {"security.protocol": "sasl_ssl", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "watcher"}


@pytest.mark.parametrize(
    ("client", "principal"),
    [
        ({}, "User:ANONYMOUS"),
        ({"security.protocol": "plaintext", "sasl.username": "unused"}, "User:ANONYMOUS"),
        ({"security.protocol": "ssl"}, "User:ANONYMOUS"),
        (
            {"security.protocol": "ssl", "ssl.certificate.pem": "x"},
            "the subject of the client certificate",
        ),
        (SCRAM, "User:watcher"),
        (SCRAM | {"sasl.mechanism": "OAUTHBEARER"}, "the principal of the token"),
    ],
)
def test_the_principal(client, principal):
    assert principal_of(ClientSettings({"bootstrap.servers": "a:9092", **client})) == principal


def test_the_mirror_file(tmp_path):
    mirror = tmp_path / "mirrors" / "mm2.properties"
    mirror.parent.mkdir()
    mirror.write_text(
        "clusters = A, B\nA.bootstrap.servers = a:9092\nB.bootstrap.servers = b:9092\nA->B.enabled = true\n",
        encoding="utf-8",
    )
    ours, alone = tmp_path / "mirrorwatch.yml", tmp_path / "alone.yml"
    ours.write_text("mm2: mirrors/mm2.properties\n", encoding="utf-8")
    alone.write_text(
        'clusters: {A: {bootstrap.servers: "a:1"}, B: {bootstrap.servers: "b:1"}}\nflows: {A->B: {}}\n',
        encoding="utf-8",
    )
    found = [read_configuration(path, environ={}).mm2_path for path in (mirror, ours, alone)]
    assert found == [mirror, mirror, None]


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        (None, False),
        ("sqlite:////etc/mirrorwatch/mirrorwatch.db", True),
        ("sqlite:////etcetera/mirrorwatch.db", False),
        ("postgresql://h/etc", False),
    ],
)
def test_a_store_in_etc_is_a_warning(tmp_path, url, warned):
    path = tmp_path / "mirrorwatch.yaml"
    store = "" if url is None else f'store: {{url: "{url}"}}\n'
    path.write_text(
        'clusters: {A: {bootstrap.servers: "a:1"}, B: {bootstrap.servers: "b:1"}}\nflows: {A->B: {}}\n'
        + store
    )
    found = store_warnings(read_configuration(path, environ={}))
    assert [one.key for one in found] == ["store.url"] * warned
