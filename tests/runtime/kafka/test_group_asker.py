"""The process that asks about groups: its questions and answers, its end, and its death."""

from __future__ import annotations

import io
import os
import queue
import signal
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import pytest
from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException
from confluent_kafka.admin import AclOperation

from fleet.errors import UnavailableError
from runtime.kafka import group_asker, group_offsets
from runtime.kafka.group_asker import GroupAsker
from runtime.kafka.group_offsets import Failed, GroupOffsets, GroupsListed, GroupsOfAnyKind, RightTold
from runtime.kafka.properties.client_settings import ClientSettings
from tests.eventually import eventually

NOWHERE = ClientSettings({"bootstrap.servers": "127.0.0.1:1"})


@pytest.fixture
def asker():
    made = GroupAsker(NOWHERE, cluster="A", timeout_s=0.5)
    made.start()
    yield made
    made.end()


def answers(asker, count):
    found = []

    def enough():
        found.extend(asker.take())
        return len(found) >= count

    eventually(enough, 20, what=f"{count} answers")
    return found


def test_a_cluster_that_is_away_is_told_of_each_question(asker):
    asker.ask(["one", "b\u00e4r"])
    asker.describe(["one"])
    found = answers(asker, 3)
    assert {(one.about, one.group) for one in found if isinstance(one, Failed)} == {
        ("offsets", "one"),
        ("offsets", "b\u00e4r"),
        ("members", "one"),
    }
    assert all(one.sentence.startswith("cluster A") for one in found)
    assert not any(one.refused for one in found)


class Asked:
    """A client's future that is done."""

    def __init__(self, found):
        self._found = found

    def result(self, _timeout):
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


@pytest.mark.parametrize(
    ("of_the_cluster", "of_a_group", "told"),
    [
        ([AclOperation.DESCRIBE], None, [RightTold(granted=True)]),  # it is shown every group
        ([], SimpleNamespace(), [RightTold(granted=True)]),
        (None, KafkaError.GROUP_AUTHORIZATION_FAILED, [RightTold(granted=False)]),
        ([], KafkaError._TIMED_OUT, []),
        (KafkaError._TRANSPORT, None, []),
    ],
)
def test_whether_groups_may_be_described_is_asked_of_the_cluster_and_then_of_any_group(
    of_the_cluster, of_a_group, told
):
    def done(found):
        return Asked(KafkaException(KafkaError(found)) if isinstance(found, int) else found)

    def describe_cluster(**_named):
        ops = of_the_cluster
        return done(ops if isinstance(ops, int) else SimpleNamespace(authorized_operations=ops))

    def offsets(groups, **_named):
        assert of_a_group is not None, "nobody had to ask"
        return {groups[0].group_id: done(of_a_group)}

    heard = []
    asking = GroupOffsets(NOWHERE, cluster="A", timeout_s=0.5, sink=heard.append)
    asking._client = SimpleNamespace(describe_cluster=describe_cluster, list_consumer_group_offsets=offsets)
    asking._ask_right()
    assert heard == told


def test_a_cluster_that_is_away_tells_of_no_right(asker):
    asker.ask_right()
    asker.ask(["one"])
    found = answers(asker, 1)
    assert [type(one) for one in found] == [Failed]


def test_a_list_that_brokers_did_not_answer_is_told_with_why_and_with_what_others_told():
    heard, listed = [], Future()
    asking = GroupOffsets(NOWHERE, cluster="A", timeout_s=0.5, sink=heard.append)
    asking._client = SimpleNamespace(list_consumer_groups=lambda **_named: listed)
    asking.list_groups()
    valid = [
        SimpleNamespace(group_id="g", state=ConsumerGroupState.STABLE, is_simple_consumer_group=False),
        SimpleNamespace(group_id="copy", state=ConsumerGroupState.EMPTY, is_simple_consumer_group=True),
    ]
    listed.set_result(SimpleNamespace(valid=valid, errors=[KafkaError(KafkaError._TIMED_OUT)]))
    (found,) = heard
    assert (found.states, found.simple) == ({"g": "stable", "copy": "empty"}, ("copy",))
    assert found.problem.startswith("cluster A: reading the list of consumer groups failed")


def test_lists_and_counts_of_a_cluster_that_is_away_are_answered(asker):
    asker.list_groups()
    asker.count_others()
    found = {type(one): one for one in answers(asker, 2)}
    assert found[GroupsListed].states == {}
    assert found[GroupsListed].problem.startswith("cluster A")
    assert found[Failed].about == "others"


def test_groups_of_other_kinds_are_not_counted_by_a_list_that_is_short(monkeypatch):
    class Old:
        def list_groups(self, **_named):
            return [SimpleNamespace(id="a consumer's"), SimpleNamespace(id="a share group")]

    class Client(Old):
        def list_consumer_groups(self, **_named):
            errors = [KafkaError(KafkaError._TIMED_OUT)]
            return Asked(SimpleNamespace(valid=[], errors=errors))

    heard = []
    asking = GroupOffsets(NOWHERE, cluster="A", timeout_s=0.5, sink=heard.append)
    monkeypatch.setattr(group_offsets, "AdminClient", Client)
    asking._client = Client()
    asking._count_others()
    assert [(type(one), one.about) for one in heard] == [(Failed, "others")]


def test_names_that_the_client_does_not_take_cost_no_other_group_its_answer(asker):
    asker.ask(["", "\ud800", "one"])
    asker.describe(["", "one", "\ud800"])
    found = answers(asker, 6)
    assert {(one.about, one.group): one.refused for one in found} == {
        ("offsets", ""): True,
        ("offsets", "\ud800"): True,
        ("offsets", "one"): False,
        ("members", ""): True,
        ("members", "\ud800"): True,
        ("members", "one"): False,
    }


def test_a_process_that_is_killed_is_told_and_started_again(asker):
    first = asker.pid
    os.kill(first, signal.SIGKILL)

    def ended():
        try:
            asker.take()
        except UnavailableError as error:
            return str(error)
        return ""

    assert "with status -9" in eventually(ended, 10, what="word of the end")
    asker.start()
    assert asker.pid != first
    asker.ask(["one"])
    (found,) = answers(asker, 1)
    assert found.group == "one"


def test_settings_that_no_client_takes_are_a_refusal():
    asker = GroupAsker(
        ClientSettings({"bootstrap.servers": "127.0.0.1:1", "security.protocol": "nonsense"}), cluster="A"
    )
    asker.start()
    try:
        asker.list_groups()
        found = answers(asker, 1)
        assert (found[0].about, found[0].refused) == ("client", True)
    finally:
        asker.end()


def test_it_ends_when_it_is_told_to_and_with_whoever_started_it(asker):
    pid = asker.pid
    asker.ask(["one"])  # not answered yet
    asker.end()
    assert not Path(f"/proc/{pid}").exists()


def test_an_answer_in_the_midst_of_which_the_process_ended_is_none():
    answers = queue.SimpleQueue()
    whole = b'{"kind": "GroupsOfAnyKind", "others": 3}\n'
    group_asker._listen(io.BytesIO(whole + whole[:20]), answers)
    assert answers.get_nowait() == GroupsOfAnyKind(3)
    assert answers.empty()
