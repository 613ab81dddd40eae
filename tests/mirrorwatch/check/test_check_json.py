"""The document of `check --json`: what the text says, for jq, and never a secret."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fleet.errors import UnavailableError
from mirrorwatch.check.permissions_text import PARTS
from tests.mirrorwatch.check.test_check import MM2, YAML, Cluster, explain
from tests.mirrorwatch.cli.test_main import mirrorwatch

__all__ = ["explain"]

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "check-json.md"


@pytest.fixture
def document(explain):
    async def read(*arguments, **options):
        code, text = await explain(*arguments, as_json=True, **options)
        found = json.loads(text)
        assert found["exit_status"] == code
        return found

    return read


async def test_it_holds_what_the_text_shows(document):
    a = Cluster("orders", "payments", "stock.internal", "my.replica", "B.native", brokers=3)
    found = await document(MM2, {"A": a, "B": Cluster("A.orders")})
    assert (found["format"], found["result"], found["problems"]) == (1, "no_canary", [])
    assert [warning["key"] for warning in found["warnings"]] == ["flows.B->A"]
    assert found["clusters"][0] == {
        "kafka_cluster": "A",
        "watched": True,
        "has_flows": True,
        "bootstrap_servers": "a1.example.org:9092,a2.example.org:9092",
        "security_protocol": "PLAINTEXT",
        "principal": "User:ANONYMOUS",
        "reached": True,
        "id": "Q0x3pl-A",
        "brokers": 3,
        "topics": 5,
        "topics_cut_off": False,
        "mirror_client": found["clusters"][0]["mirror_client"],
        "errors": [],
    }
    there, back = found["flows"]
    assert there["canary"]["probed"] is True
    assert back["canary"]["line_to_add"] == "B->A.topics = orders.*, mirrorwatch-canary"
    assert (back["canary"]["probed"], back["canary"]["deliberate"]) == (False, False)
    assert there["replicated"]["replicated"] == [
        {"source": "orders", "target": "A.orders"},
        {"source": "payments", "target": "A.payments"},
    ]
    assert there["replicated"]["not_on_target_yet"] == ["A.payments"]
    assert "stock.internal" in there["replicated"]["depends_on_version"][0]
    assert there["replicated"]["not_replicated"] == [
        {"why": r"topics.exclude has '.*\.replica'", "topics": ["my.replica"]}
    ]
    assert found["canary"]["sources"][0]["records_per_second"] == 4
    assert {one["part"] for one in found["permissions"]} == set(PARTS)
    commands = [one["command"] for one in found["permissions"]]
    assert all(command.startswith("kafka-acls.sh --bootstrap-server ") for command in commands)
    assert "s3cret-of-b" not in json.dumps(found)


async def test_a_cluster_that_is_away_and_what_was_not_asked(document):
    away = Cluster(error=UnavailableError("cluster B: nothing listens at b:9092"))
    found = await document(YAML, {"A": Cluster("orders"), "B": away})
    assert (found["exit_status"], found["result"]) == (4, "unavailable")
    assert found["clusters"][1]["reached"] is False
    assert found["clusters"][1]["errors"] == ["cluster B: nothing listens at b:9092"]
    found = await document(YAML)
    assert [cluster["reached"] for cluster in found["clusters"]] == [None, None]
    assert found["result"] == "ok"
    assert found["flows"][0]["replicated"] is None


async def test_strict_and_switched_off(document):
    filtered = YAML.replace(", mirrorwatch-canary", "")
    assert (await document(filtered, strict=True))["result"] == "finding"
    assert (await document(filtered))["result"] == "no_canary"
    found = await document(YAML + "canary: {mode: 'off'}\n", strict=True)
    assert found["result"] == "ok"
    assert found["flows"][0]["canary"]["deliberate"] is True


def test_a_configuration_that_cannot_be_used_is_a_document_too(tmp_path):
    path = tmp_path / "mirrorwatch.yml"
    path.write_text(YAML + "canary: {treshold: 1s}\nlag: {commits: nowhere}\n")
    ended = mirrorwatch("check", "--json", path)
    found = json.loads(ended.stdout)
    assert (ended.returncode, ended.stderr) == (2, "")
    assert (found["exit_status"], found["result"]) == (2, "bad_configuration")
    assert [problem["key"] for problem in found["problems"]] == ["canary.treshold", "lag.commits"]
    assert all(problem["file"].startswith(str(path)) and problem["sentence"] for problem in found["problems"])


def test_the_commands_and_the_document_exclude_each_other(tmp_path):
    ended = mirrorwatch("check", "--json", "--acls", tmp_path / "x.yml")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "exclude each other" in ended.stderr


def keys(document):
    if isinstance(document, dict):
        for key, value in document.items():
            if key not in ("3.x", "4.x"):
                yield key
                yield from keys(value)
    elif isinstance(document, list):
        for value in document:
            yield from keys(value)


async def test_every_key_is_on_its_page(document):
    chain = YAML.replace("flows: {", "flows: {B->A: {topics: x}, ")
    found = await document(chain, {"A": Cluster("orders", "mirrorwatch-canary", brokers=3), "B": Cluster()})
    documented = set(re.findall(r"`([a-z_]+)`", PAGE.read_text(encoding="utf-8")))
    assert set(keys(found)) - documented == set()
