"""A wrong password and missing permissions: each command says one sentence, and shows no secret."""

from __future__ import annotations

import pytest
import yaml

from deploy.drills.failovers import mirrorwatch
from deploy.local import topics

FLOW = ("--flow", "S->B")
COMMANDS = {
    "failover": ("failover", "CONFIG"),
    "prove": ("failover", "CONFIG", "--group", "billing", "--prove"),
    "translate": ("offsets", "translate", "CONFIG", *FLOW, "--group", "billing"),
    "drift": ("drift", "CONFIG"),
    "trace": ("trace", "CONFIG", "--topic", "orders", "--partition", "0", "--offset", "0"),
    "drill": ("drill", "CONFIG", *FLOW, "--limit", "1m"),
    "migrate": ("migrate", "export", "CONFIG", *FLOW, "--out", "positions.json"),
}


@pytest.fixture
def configured(secure_broker, kafka_pair, tmp_path):
    def write(user, password=None):
        client = secure_broker.client_properties(user)
        if password is not None:
            client["sasl.password"] = password
        clusters = {"S": client, "B": kafka_pair.b.client_properties()}
        path = tmp_path / "mirrorwatch.yml"
        content = {"clusters": clusters, "flows": {"S->B": {"topics": "orders.*"}}, "canary": {"mode": "off"}}
        path.write_text(yaml.safe_dump(content))
        return path

    return write


def said_by(command, config, tmp_path):
    arguments = [str(config) if one == "CONFIG" else one for one in COMMANDS[command]]
    arguments = [str(tmp_path / one) if one == "positions.json" else one for one in arguments]
    said = mirrorwatch(*arguments)
    assert "Traceback" not in said
    return said


LONG = {"prove", "translate", "trace", "drill"}


@pytest.mark.parametrize(
    "command", [pytest.param(one, marks=pytest.mark.long if one in LONG else ()) for one in COMMANDS]
)
def test_a_wrong_password_is_said_and_not_shown(configured, tmp_path, command):
    said = said_by(command, configured("admin", "a-wrong-password"), tmp_path)
    assert "a-wrong-password" not in said
    assert "does not accept the credentials" in " ".join(said.split())
    assert "No consumer group" not in said


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("failover", "grant the principal Describe on its groups"),
        pytest.param("prove", "grant the principal Describe on its groups", marks=pytest.mark.long),
        ("drift", "no topic is visible on S"),
        ("trace", "or the permission to describe it is missing"),
        pytest.param("drill", "grant the principal Describe on its groups", marks=pytest.mark.long),
        ("migrate", "no topic that the mirror replicates is visible"),
    ],
)
def test_missing_permissions_are_said(configured, secure_broker, tmp_path, command, sentence):
    admin = secure_broker.client_properties()
    if "orders" not in topics.admin_client(admin).list_topics(timeout=10).topics:
        topics.create_topic(admin, "orders", partitions=1)
    said = said_by(command, configured("stranger"), tmp_path)
    assert sentence in " ".join(said.split())
