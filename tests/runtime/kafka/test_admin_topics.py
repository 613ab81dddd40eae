"""Settings and ACLs of topics, which may be seen, and since when they exist: what a client's answers mean."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclOperation,
    AclPermissionType,
    ConfigResource,
    ConfigSource,
    ResourcePatternType,
)

from fleet.errors import RefusedError, UnavailableError
from fleet.topic_acls import TopicAcl, TopicAcls
from fleet.topic_settings import Origin, Setting
from runtime.kafka import admin as admin_module
from runtime.kafka.admin import ClusterAdmin, is_unknown_topic
from runtime.kafka.properties.client_settings import ClientSettings

BINDING = SimpleNamespace(
    name="orders",
    resource_pattern_type=ResourcePatternType.PREFIXED,
    principal="User:x",
    host="*",
    operation=AclOperation.DESCRIBE_CONFIGS,
    permission_type=AclPermissionType.DENY,
)


def failed(code):
    return KafkaException(KafkaError(getattr(KafkaError, code)))


def answer(said):
    future = Future()
    (future.set_exception if isinstance(said, Exception) else future.set_result)(said)
    return future


class Client:
    """Answers from tables; a missing topic is unknown."""

    def __init__(self, **says):
        self.says = says
        self.requests = []

    def describe_configs(self, resources, *, request_timeout):
        assert request_timeout > 0
        self.requests.append([one.name for one in resources])
        if resources[0].restype == ConfigResource.Type.BROKER:
            return {one: answer(self.says["broker"]) for one in resources}
        unknown = failed("UNKNOWN_TOPIC_OR_PART")
        return {one: answer(self.says["configs"].get(one.name, unknown)) for one in resources}

    def describe_acls(self, _wanted, *, request_timeout):
        assert request_timeout > 0
        return answer(self.says["acls"])

    def describe_cluster(self, *, request_timeout, include_authorized_operations=False):
        assert request_timeout > 0
        operations = self.says["operations"] if include_authorized_operations else None
        nodes = [SimpleNamespace(id=7)]
        return answer(SimpleNamespace(cluster_id="c", nodes=nodes, authorized_operations=operations))

    def describe_topics(self, topics, *, request_timeout):
        assert request_timeout > 0
        return {name: answer(self.says["topics"][name]) for name in topics.topic_names}

    def list_offsets(self, places, *, request_timeout):
        assert request_timeout > 0
        return {place: answer(self.says["first"][place.topic][place.partition]) for place in places}

    def poll(self, _timeout):
        return 0


def admin(**says):
    one = ClusterAdmin(ClientSettings({}), cluster="A", timeout_s=5.0)
    one._client = Client(**says)
    return one


def entry(value, source):
    return SimpleNamespace(value=value, source=source)


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        (ConfigSource.DYNAMIC_TOPIC_CONFIG, Origin.TOPIC),
        (1, Origin.TOPIC),
        (ConfigSource.DYNAMIC_BROKER_CONFIG, Origin.BROKER),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, Origin.BROKER),
        (ConfigSource.STATIC_BROKER_CONFIG, Origin.STATIC),
        (ConfigSource.DEFAULT_CONFIG, Origin.DEFAULT),
    ],
)
async def test_a_setting_has_its_origin_and_secret_ones_are_left_out(source, origin):
    configs = {"t": {"a": entry("1", source), "secret": entry(None, source)}}
    found = [one async for one in admin(configs=configs).describe_topic_settings(["t"])]
    assert found == [("t", {"a": Setting("1", origin)})]


async def test_topics_that_cannot_be_read_do_not_stop_the_others(monkeypatch):
    monkeypatch.setattr(admin_module, "SETTINGS_CHUNK", 2)
    good = {"a": entry("1", 5)}
    one = admin(configs={"x": good, "y": failed("TOPIC_AUTHORIZATION_FAILED"), "z": good})
    found = dict([each async for each in one.describe_topic_settings(["x", "y", "z", "gone", "x"])])
    assert one._client.requests == [["x", "y"], ["z", "gone"]]
    assert found["x"] == found["z"] == {"a": Setting("1", Origin.DEFAULT)}
    assert isinstance(found["y"], RefusedError)
    assert not is_unknown_topic(found["y"])
    assert is_unknown_topic(found["gone"])
    with pytest.raises(RefusedError):
        await one.describe_topic_configs(["x", "y"])
    assert await one.describe_topic_configs([]) == {}


MAY = [AclOperation.DESCRIBE]
NO_AUTHORIZER, AUTHORIZER = ({"authorizer.class.name": entry(text, 5)} for text in ("", "x.Standard"))


@pytest.mark.parametrize(
    ("acls", "operations", "broker", "expected"),
    [
        ([], MAY, NO_AUTHORIZER, TopicAcls(has_authorizer=False)),
        ([], MAY, {}, TopicAcls(has_authorizer=False)),
        ([], MAY, AUTHORIZER, TopicAcls()),
        (failed("SECURITY_DISABLED"), None, {}, TopicAcls(has_authorizer=False)),
        (
            [BINDING],
            None,
            {},
            TopicAcls((TopicAcl("orders", True, "User:x", "*", "DescribeConfigs", False),)),
        ),
    ],
)
async def test_acls_and_whether_there_is_an_authorizer(acls, operations, broker, expected):
    assert await admin(acls=acls, operations=operations, broker=broker).describe_topic_acls() == expected


@pytest.mark.parametrize(
    ("acls", "operations", "broker", "words"),
    [
        ([], None, AUTHORIZER, "grant it Describe on the cluster"),
        ([], [AclOperation.ALTER], AUTHORIZER, "grant it Describe on the cluster"),
        ([], MAY, failed("CLUSTER_AUTHORIZATION_FAILED"), "reading authorizer.class.name of broker 7 failed"),
        (failed("CLUSTER_AUTHORIZATION_FAILED"), None, {}, "reading the ACLs failed"),
        (failed("UNSUPPORTED_VERSION"), None, {}, "reading the ACLs failed"),
    ],
)
async def test_an_empty_list_that_proves_nothing_is_unread(acls, operations, broker, words):
    found = await admin(acls=acls, operations=operations, broker=broker).describe_topic_acls()
    assert found.rules == ()
    assert words in found.unread


async def test_hidden_topics_are_those_without_permission():
    says = {
        "there": SimpleNamespace(),
        "gone": failed("UNKNOWN_TOPIC_OR_PART"),
        "hidden": failed("TOPIC_AUTHORIZATION_FAILED"),
    }
    assert await admin(topics=says).hidden_topics(list(says)) == {"hidden"}
    assert await admin(topics={}).hidden_topics([]) == frozenset()
    with pytest.raises(UnavailableError):
        await admin(topics={"t": failed("REQUEST_TIMED_OUT")}).hidden_topics(["t"])


def first(offset, timestamp=-1):
    return SimpleNamespace(offset=offset, timestamp=timestamp)


async def test_a_topic_exists_since_its_oldest_record_if_none_was_deleted():
    says = {
        "whole": [first(0, 50), first(-1), first(0, 40)],
        "cut": [first(0, 50), first(3, 60)],
        "empty": [first(-1)],
        "untimed": [first(0, -1)],
        "unread": [first(0, 50), failed("LEADER_NOT_AVAILABLE")],
    }
    found = await admin(first=says).oldest_records_ms({name: len(one) for name, one in says.items()})
    assert found == {"whole": 40}
