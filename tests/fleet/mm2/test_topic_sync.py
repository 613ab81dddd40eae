"""What a mirror's configuration says about configurations and ACLs of topics."""

from __future__ import annotations

import pytest

from fleet.mm2.config_providers import Lookup
from fleet.mm2.flows import FlowOverrides, FlowReader
from fleet.mm2.resolution import Mm2Properties
from fleet.mm2.topic_sync import TopicSync, topic_sync_of
from fleet.mm2.values import Values


def read(properties, *, major=4, troubles=()):
    problems = []
    found = topic_sync_of(Values("f", properties, problems, {}, dict.fromkeys(troubles, ("x",))), major)
    assert problems == []
    return found


@pytest.mark.parametrize("version", [None, "3.9", "4.3.0"])
@pytest.mark.parametrize(
    ("name", "excluded"),
    [
        ("min.insync.replicas", True),
        ("message.timestamp.type", True),
        ("message.timestamp.difference.max.ms", True),
        ("unclean.leader.election.enable", True),
        ("leader.replication.throttled.replicas", True),
        ("message.timestamp.before.max.ms", False),  # MirrorMaker 4.3 excludes the broker's name of it
        ("retention.ms", False),
        ("min.insync.replicas.x", False),
    ],
)
def test_defaults_are_those_of_mirrormaker(version, name, excluded):
    assert TopicSync().excludes(name, version) is excluded
    assert read({}) == TopicSync()


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"sync.topic.configs.enabled": "False"}, TopicSync(configs_interval_s=None)),
        ({"sync.topic.configs.interval.seconds": "-1"}, TopicSync(configs_interval_s=None)),
        ({"sync.topic.acls.enabled": "false"}, TopicSync(acls_interval_s=None)),
        ({"sync.topic.acls.interval.seconds": " 30 "}, TopicSync(acls_interval_s=30.0)),
        ({"use.defaults.from": "source"}, TopicSync(defaults_from="source")),
        ({"config.properties.exclude": "a.*, b"}, TopicSync(exclude="a.*, b")),
        ({"config.properties.exclude": ""}, TopicSync(exclude="")),
        ({"config.properties.blacklist": "a"}, TopicSync()),  # 4.x does not know it
        (
            {"config.property.filter.class": "com.example.Mine"},
            TopicSync(unknown="config.property.filter.class is not MirrorMaker's default"),
        ),
    ],
)
def test_settings(properties, expected):
    assert read(properties) == expected


def test_the_older_key_counts_for_older_versions_and_gives_way():
    assert read({"config.properties.blacklist": "a"}, major=3) == TopicSync(exclude="a")
    both = {"config.properties.blacklist": "a", "config.properties.exclude": "b"}
    assert read(both, major=None) == TopicSync(exclude="b")


def test_what_cannot_be_used_is_unknown_and_no_problem():
    assert "config.properties.exclude: " in read({"config.properties.exclude": "a("}).unknown
    key = "config.properties.exclude"
    assert "variable" in read({key: "${file:a:b}"}, troubles=[key]).unknown


def test_an_empty_list_excludes_nothing():
    assert not TopicSync(exclude="").excludes("min.insync.replicas", None)


def test_settings_of_a_flow_come_from_the_mirror_s_file():
    raw = {
        "clusters": "A, B",
        "A.bootstrap.servers": "a:1",
        "B.bootstrap.servers": "b:1",
        "A->B.enabled": "true",
        "B->A.enabled": "true",
        "sync.topic.configs.enabled": "false",
        "use.defaults.from": "source",  # MirrorMaker passes it on only with the flow in front
        "B->A.use.defaults.from": "source",
        "B->A.config.properties.exclude": "retention.ms",
        "B->A.sync.topic.configs.enabled": "true",
    }
    mm2 = Mm2Properties(raw, 4, Lookup({}, str))
    reader = FlowReader("f", mm2, "4.3", [])
    one, back = (reader.flow(*pair, FlowOverrides()).topic_sync for pair in (("A", "B"), ("B", "A")))
    assert one == TopicSync(configs_interval_s=None)
    assert back == TopicSync(exclude="retention.ms", defaults_from="source")
    assert reader.problems == []
