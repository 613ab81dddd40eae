"""Questions while a broker is away.

Of a leader that is away the client has an offset that is none, and no error; and it goes on asking a dead
broker about topics.
"""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException

from fleet.errors import RefusedError, UnavailableError
from runtime.kafka.admin import ClusterAdmin
from runtime.kafka.properties.client_settings import ClientSettings

AWAY = KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
FORBIDDEN = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))


class Client:
    """Answers with what `says` holds for each partition: an offset, or an error."""

    def __init__(self, says):
        self.says = says
        self.timeouts = []

    def list_offsets(self, chunk, *, request_timeout):
        self.timeouts.append(request_timeout)
        return {place: self.answer(place.partition) for place in chunk}

    def answer(self, partition):
        future = Future()
        said = self.says[partition]
        if isinstance(said, Exception):
            future.set_exception(said)
        else:
            future.set_result(SimpleNamespace(offset=said))
        return future

    def poll(self, _timeout):
        return 0


def admin(*says):
    one = ClusterAdmin(ClientSettings({}), cluster="A", timeout_s=5.0)
    one._client = Client(says)
    return one


@pytest.mark.parametrize("silent", [OFFSET_INVALID, AWAY])
async def test_what_cannot_be_told_is_left_out_or_refused(silent):
    asked = admin(7, silent, 9)
    assert await asked.end_offsets("t", range(3), lenient=True) == {0: 7, 2: 9}
    assert await asked.start_offsets("t", range(3), lenient=True) == {0: 7, 2: 9}
    for question in (asked.end_offsets, asked.start_offsets):
        with pytest.raises(UnavailableError, match="offsets"):
            await question("t", range(3))
    with pytest.raises(UnavailableError):
        await asked.offsets_since("t", range(3), at_ms=0)
    assert asked._client.timeouts == [2.0, 2.0, 5.0, 5.0, 5.0]


async def test_what_is_forbidden_is_never_passed_over():
    with pytest.raises(RefusedError):
        await admin(7, FORBIDDEN).end_offsets("t", range(2), lenient=True)


async def test_a_time_that_no_record_has_is_the_end():
    asked = admin(7, 8)
    asked._client.list_offsets = _in_turn(asked._client, [(7, 8), (3, -1)])
    assert await asked.offsets_since("t", range(2), at_ms=1) == {0: 3, 1: 8}


def _in_turn(client, answers):
    original = client.list_offsets
    waiting = iter(answers)

    def list_offsets(chunk, *, request_timeout):
        client.says = next(waiting)
        return original(chunk, request_timeout=request_timeout)

    return list_offsets


class Deaf(Client):
    """Asks a dead broker about topics until it has taken metadata from another one, if `another` is there."""

    def __init__(self, *, another):
        super().__init__(())
        self.another = another
        self.refreshed = 0

    def describe_topics(self, _wanted, *, request_timeout):
        self.timeouts.append(request_timeout)
        future = Future()
        if self.another and self.refreshed:
            future.set_exception(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))
        else:
            future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
        return {"t": future}

    def list_topics(self, topic, *, timeout):
        self.timeouts.append(timeout)
        self.refreshed += 1
        if not self.another:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return SimpleNamespace(topics={topic: None})


async def test_another_broker_is_asked_about_topics_where_one_has_died():
    asked = ClusterAdmin(ClientSettings({}), cluster="A", timeout_s=5.0)
    asked._client = Deaf(another=True)
    assert await asked.describe_topics(["t"]) == {"t": None}
    asked._client = Deaf(another=False)
    with pytest.raises(UnavailableError, match="describing the topic t"):
        await asked.describe_topics(["t"])
    assert asked._client.timeouts == [2.5, 2.5, 2.5]


async def test_an_outage_that_is_over_does_not_explain_the_next_one(monkeypatch):
    asked, heard = admin(7, KafkaException(KafkaError(KafkaError._TIMED_OUT))), []
    monkeypatch.setattr(
        asked._client, "poll", lambda _timeout: [asked._symptoms.hear_error(heard.pop()) for _ in [*heard]]
    )
    refused = KafkaError(KafkaError._TRANSPORT, "a:1/1: Connect to a:1 failed: Connection refused")
    heard.append(refused)  # and the client says so only when it is asked
    assert await asked.end_offsets("t", [0]) == {0: 7}
    with pytest.raises(UnavailableError, match="no answer in time"):
        await asked.end_offsets("t", [1])
    heard.append(refused)
    with pytest.raises(UnavailableError, match="nothing listens there"):
        await asked.end_offsets("t", [1])


class Refused(Client):
    """Does not answer within the first wait, as librdkafka tries refused credentials again and again."""

    def __init__(self, symptoms, *, refused=True):
        super().__init__((7,))
        self.symptoms, self.refused = symptoms, refused

    def describe_cluster(self, *, request_timeout):
        self.timeouts.append(request_timeout)
        return Future()

    def list_topics(self, topic, *, timeout):
        self.timeouts.append(timeout)
        if len(self.timeouts) == 1:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return SimpleNamespace(topics={topic or "t": None})

    def poll(self, _timeout):
        if self.refused:
            self.symptoms.hear_error(KafkaError(KafkaError._AUTHENTICATION, "a:1/1: Authentication failed"))


@pytest.fixture
def refused(monkeypatch):
    monkeypatch.setattr("runtime.kafka.admin._REFUSED_S", 0.05)
    one = ClusterAdmin(ClientSettings({}), cluster="A", timeout_s=1.0)
    one._client = Refused(one._symptoms)
    return one


@pytest.mark.parametrize("question", ["describe_cluster", "list_topics"])
async def test_credentials_that_are_refused_at_first_are_not_tried_until_the_timeout(refused, question):
    with pytest.raises(RefusedError, match="does not accept the credentials"):
        await getattr(refused, question)()
    assert len(refused._client.timeouts) == 1


async def test_a_slow_cluster_has_all_the_time_to_answer(refused):
    refused._client.refused = False
    assert await refused.list_topics() == ("t",)
    assert refused._client.timeouts == [0.05, 0.95]


async def test_a_client_that_had_an_answer_waits_for_the_next_though_one_broker_refuses_it(refused):
    assert await refused.end_offsets("t", [0]) == {0: 7}
    refused._client.timeouts = ["answered before"]
    assert await refused.list_topics() == ("t",)
    assert refused._client.timeouts == ["answered before", 1.0]
