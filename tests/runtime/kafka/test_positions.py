"""Many partitions are asked about at once, by leader; one broker that is away holds up no other."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from fleet.errors import UnavailableError
from runtime.kafka import positions as module
from runtime.kafka.leaders import PAUSE_S
from runtime.kafka.positions import Partitions, Positions, Which
from runtime.kafka.properties.client_settings import ClientSettings
from runtime.kafka.quick_offsets import AT_ONCE, FIRST, NEXT
from tests.runtime.fake_clock import FakeClock

LEADERS = {"t": [1, 2, 1], "wide": [3] * (AT_ONCE + 1)}


class Broker:
    """What both kinds of clients ask: the offset of a partition is its number and a base for each question."""

    def __init__(self):
        self.fails: dict[int, int] = {}  # by leader, the code that a question fails with
        self.unknown: set[tuple[str, int]] = set()  # to the quick client
        self.gone: set[tuple[str, int]] = set()  # to both
        self.gone_as = KafkaError.UNKNOWN_TOPIC_OR_PART
        self.asked: list[tuple[bool, int, list[tuple[str, int]]]] = []
        self.singly: list[list[tuple[str, int]]] = []
        self.learnt: list[str] = []

    def quick(self, committed):
        def ask(places, which, *, timeout_s):
            assert timeout_s > 0
            names = list(places)
            self.asked.append((committed, which, names))
            led = {LEADERS[topic][number] for topic, number in names}
            assert len(led) == 1, "a question is for one leader"
            if code := self.fails.get(led.pop()):
                raise KafkaException(KafkaError(code))
            base = {(False, FIRST): 0, (False, NEXT): 100, (True, NEXT): 50}[committed, which]
            return [-1 if one in self.unknown | self.gone else base + one[1] for one in names]

        return SimpleNamespace(
            ask=ask,
            cluster=lambda *, timeout_s: self.cluster(timeout_s),
            learn=self.learnt.extend,
            listen=lambda: None,
            close=lambda: None,
        )

    def cluster(self, timeout_s):
        assert timeout_s > 0
        topics = {
            name: SimpleNamespace(
                error=None, partitions={n: SimpleNamespace(leader=one) for n, one in enumerate(leaders)}
            )
            for name, leaders in LEADERS.items()
        }
        return SimpleNamespace(topics=topics, brokers={1: 0, 2: 0, 3: 0}, cluster_id="x")

    def list_offsets(self, asked, **_options):
        names = [(one.topic, one.partition) for one in asked]
        self.singly.append(names)
        found = {}
        for place, name in zip(asked, names, strict=True):
            found[place] = Future()
            code = self.fails.get(LEADERS[name[0]][name[1]])
            if name in self.gone or code:
                found[place].set_exception(KafkaException(KafkaError(code or self.gone_as)))
            else:
                found[place].set_result(SimpleNamespace(offset=1000 + name[1]))
        return found

    def poll(self, _timeout):
        return 0


@pytest.fixture
def broker(monkeypatch):
    there = Broker()
    monkeypatch.setattr(module, "make_admin_client", lambda *_a, **_k: there)
    monkeypatch.setattr(module, "QuickOffsets", lambda *_a, committed, **_k: there.quick(committed))
    return there


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def asked(broker, clock):
    positions = Positions(ClientSettings({}), cluster="A", name="A", clock=clock)
    positions.open()
    positions.topics()
    return positions


ALL = [(name, number) for name, leaders in LEADERS.items() for number in range(len(leaders))]


@pytest.mark.parametrize(("which", "base"), [(Which.START, 0), (Which.END, 100), (Which.STABLE, 50)])
def test_every_partition_has_its_own_offset(asked, broker, which, base):
    assert asked.read(ALL, which) == [base + number for _, number in ALL]
    assert [len(names) for _, _, names in broker.asked] == [2, 1, AT_ONCE, 1]
    assert broker.singly == []


def test_topics_of_a_broker_that_knows_of_no_ids_have_none(asked, broker):
    ids = {"t": "q83PUO6-TsGTIq8_4jYuyw", "wide": "AAAAAAAAAAAAAAAAAAAAAA"}

    def describe_topics(collection, **_):
        found = {name: Future() for name in collection.topic_names}
        for name, future in found.items():
            future.set_result(SimpleNamespace(topic_id=ids[name]))
        return found

    broker.describe_topics = describe_topics
    assert asked.ids(["t", "wide"]) == {"t": ids["t"]}
    assert asked.ids(["wide"]) == {}


def test_what_one_client_does_not_know_is_asked_of_the_other_and_learnt(asked, broker):
    broker.unknown = {("t", 2)}
    assert asked.read(ALL[:3], Which.END) == [100, 101, 1002]
    assert broker.singly == [[("t", 2)]]
    assert broker.learnt == ["t"]


def test_a_question_that_fails_is_asked_partition_by_partition(asked, broker, monkeypatch):
    broker.fails = {1: KafkaError.NOT_LEADER_FOR_PARTITION}
    monkeypatch.setattr(broker, "list_offsets", Broker().list_offsets)
    assert asked.read(ALL[:3], Which.END) == [1000, 101, 1002]


def test_a_broker_that_is_silent_holds_up_no_other_and_is_left_alone_for_a_while(asked, broker, clock):
    broker.fails = {3: KafkaError._TIMED_OUT}
    assert asked.read(ALL, Which.END) == [100, 101, 102] + [-1] * len(LEADERS["wide"])
    assert [len(names) for _, _, names in broker.asked] == [2, 1, AT_ONCE]  # and not its second question
    assert broker.singly == []
    broker.asked.clear()
    asked.read(ALL, Which.STABLE)
    assert [len(names) for _, _, names in broker.asked] == [2, 1]
    clock.advance(PAUSE_S)
    broker.fails = {}
    assert min(asked.read(ALL, Which.END)) >= 0


def test_where_no_one_answers_the_reason_is_raised_and_so_while_all_are_left_alone(asked, broker):
    broker.fails = dict.fromkeys((1, 2, 3), KafkaError._TIMED_OUT)
    for sentence in ("cluster A: reading where partitions", "cluster A: broker 1 did not answer"):
        with pytest.raises(UnavailableError, match=sentence):
            asked.read(ALL, Which.END)


def test_a_partition_that_is_gone_has_no_offset(asked, broker):
    broker.gone = {("t", 1)}
    assert asked.read(ALL[:3], Which.END) == [100, -1, 102]


@pytest.mark.parametrize(
    ("code", "asked_again"),
    [
        (KafkaError.UNKNOWN_TOPIC_OR_PART, [2, 1, AT_ONCE, 1]),
        (KafkaError._UNKNOWN_PARTITION, [2, 1, AT_ONCE, 1]),
        (KafkaError._NOENT, [2, 1, AT_ONCE, 1]),  # "No leaders found"
        (KafkaError.NOT_LEADER_FOR_PARTITION, [2, 1, AT_ONCE, 1]),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, [2, 1, AT_ONCE, 1]),
        (KafkaError.LEADER_NOT_AVAILABLE, [2, 1]),
        (KafkaError._TRANSPORT, [2, 1]),
    ],
)
def test_a_broker_that_says_no_is_not_silent(asked, broker, code, asked_again):
    broker.gone, broker.gone_as = {("wide", AT_ONCE)}, code  # of which the last question is
    assert asked.read(ALL, Which.END)[-2:] == [100 + AT_ONCE - 1, -1]
    broker.asked.clear()
    asked.read(ALL, Which.END)
    assert [len(names) for _, _, names in broker.asked] == asked_again


def test_where_all_was_deleted_nothing_is_there_and_nothing_failed(asked, broker):
    broker.gone = set(ALL)
    assert asked.read(ALL, Which.END) == [-1] * len(ALL)


def test_where_nothing_has_a_leader_that_is_raised(asked, broker):
    broker.gone, broker.gone_as = set(ALL), KafkaError._NOENT
    for _ in range(2):
        with pytest.raises(UnavailableError, match="No such entry"):
            asked.read(ALL, Which.END)


def test_another_leader_is_asked_once_the_topics_are_listed_anew(asked, broker, monkeypatch):
    partitions = Partitions(ALL[:3])
    asked.read(partitions, Which.END)
    asked.read(ALL, Which.START)
    monkeypatch.setitem(LEADERS, "t", [2, 2, 2])
    asked.topics()
    broker.asked.clear()
    assert asked.read(partitions, Which.END) == [100, 101, 102]
    assert [len(names) for _, _, names in broker.asked] == [3]


def test_partitions_that_are_held_in_little_room_are_the_same_ones():
    held = Partitions(iter(ALL))
    assert list(held) == ALL
    assert (len(held), held[1], held[1:3]) == (len(ALL), ALL[1], ALL[1:3])
    assert list(Partitions()) == []


def test_an_outage_that_is_over_does_not_explain_the_next_one(broker, monkeypatch):
    heard, of_clients = [], []

    def made(*_a, symptoms, **_k):
        of_clients.append(symptoms)
        return broker

    def poll(_timeout):
        while heard:
            of_clients[0].hear_error(heard.pop())

    monkeypatch.setattr(module, "make_admin_client", made)
    monkeypatch.setattr(broker, "poll", poll)
    positions = Positions(ClientSettings({}), cluster="A", name="A", clock=FakeClock())
    positions.open()
    refused = KafkaError(KafkaError._TRANSPORT, "a:1/1: Connect to a:1 failed: Connection refused")
    heard.append(refused)  # and the client says so only when it is asked
    positions.topics()

    def late(timeout_s):
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    monkeypatch.setattr(broker, "cluster", late)
    with pytest.raises(UnavailableError, match="no answer in time"):
        positions.topics()
    heard.append(refused)
    with pytest.raises(UnavailableError, match="nothing listens there"):
        positions.topics()
