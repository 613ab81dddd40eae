"""What a configuration holds that is secret: it is known, whoever has it, and no problem that quotes shows it."""

from __future__ import annotations

import json

import pytest

from mirrorwatch.configuration.problems import _without, secrets_in
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.lag.orders import lag_orders
from runtime.process.logs import Redactor

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
OURS = f"""
clusters:
  A:
    security.protocol: SASL_PLAINTEXT
    sasl.mechanism: PLAIN
    sasl.jaas.config: "{MODULE} username=\\"watch\\" password=\\"ours-99\\";"
"""


@pytest.mark.parametrize(
    ("secret", "sentence", "shown"),
    [
        ("wrong", "is wrong; write another", "is wrong; write another"),
        ("write", "is wrong; write another", "is wrong; write another"),
        ("wrong", "is 'Wrong', and no number", "is '***', and no number"),
        ("wrong", "holds user:wrong@host", "holds user:***@host"),
        ("hunter2", "is HUNTER2 here", "is *** here"),
        ("no", "is 'no', and no number", "is '***', and no number"),
    ],
)
def test_a_secret_is_hidden_where_it_is_a_value(secret, sentence, shown):
    assert _without(sentence, [secret]) == shown


@pytest.mark.parametrize(
    ("module", "secrets"),
    [
        (f'{MODULE} username="mm" password="Mirror-Pw-77";', {"Mirror-Pw-77"}),
        (f"{MODULE} username='mm' password='Mirror-Pw-77'", {"Mirror-Pw-77"}),  # no semicolon: it is broken
        (f"{MODULE} password=Mirror-Pw-77;", {"Mirror-Pw-77"}),
        (f'{MODULE} password = "a\\"b\\\\c" ;', {'a\\"b\\\\c', 'a"b\\c'}),
        ('x required clientId="me" clientSecret="hush-hush" scope="all";', {"hush-hush"}),
        ("x required;", set()),
        ("a" * 60_000, set()),
    ],
)
def test_secrets_of_a_login_module_are_known_by_themselves(module, secrets):
    assert secrets_in({"producer.override.sasl.jaas.config": module}) == secrets | {module}


def mirror_of(form):
    jaas = f'{MODULE} username="mm" password="Mirror-Pw-77";'
    if form == "properties":
        provider = "org.apache.kafka.common.config.provider.FileConfigProvider"
        return (
            "clusters = A, B\nA.bootstrap.servers = a:9092\nB.bootstrap.servers = b:9092\nA->B.enabled = true\n"
            "A.security.protocol = SASL_PLAINTEXT\nA.sasl.mechanism = PLAIN\n"
            f"config.providers = f\nconfig.providers.f.class = {provider}\nA.sasl.jaas.config = ${{f:kept:jaas}}\n"
            "B.producer.ssl.key.password = Producer-Pw-88\n"
        ), f"jaas = {jaas}\nplain = of-no-secret-key\n"
    connector = {
        "connector.class": "MirrorSource",
        "source.cluster.alias": "A",
        "target.cluster.alias": "B",
        "source.cluster.bootstrap.servers": "a:9092",
        "target.cluster.bootstrap.servers": "b:9092",
        "source.cluster.sasl.jaas.config": jaas,
        "producer.override.ssl.key.password": "Producer-Pw-88",
    }
    other = {"name": "sink", "config": {"connector.class": "io.x.Sink", "delete.key": "of-no-secret-key"}}
    return json.dumps([{"name": "m", "config": connector}, other]), ""


@pytest.mark.parametrize("form", ["properties", "json"])
def test_the_mirrors_own_passwords_are_secret_where_we_have_another(tmp_path, form):
    text, kept = mirror_of(form)
    (tmp_path / f"mirror.{form}").write_text(text)
    (tmp_path / "kept").write_text(kept)
    path = tmp_path / "mirrorwatch.yaml"
    path.write_text(f"mm2: mirror.{form}\n{OURS}")
    config = read_configuration(path, environ={})
    assert {"Mirror-Pw-77", "Producer-Pw-88", "ours-99"} <= config.secrets
    assert "of-no-secret-key" not in config.secrets  # it may be any word, and would black out sentences
    trace = f'Invalid value {MODULE} username="mm" password="Mirror-Pw-77" for sasl.jaas.config'
    for secrets in (config.secrets, lag_orders(config).told["secrets"]):
        assert Redactor(secrets).foreign(trace) == trace.replace("Mirror-Pw-77", "***")
