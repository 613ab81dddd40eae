"""What a mirror's configuration says about configurations and ACLs of topics."""

from __future__ import annotations

import pytest

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
