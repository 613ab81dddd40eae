"""What is said about a topic's settings: nothing of those that we make, one sentence for each that is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canary.site.record_sizes import control_probe_bytes, largest_probe_bytes
from canary.site.topic_advice import CanaryTopic, Use, advise
from canary.tracker.plan import CONTROL_SETTINGS, PROBES_SETTINGS

BROKERS_OWN = {
    "cleanup.policy": "delete",
    "max.message.bytes": "1048588",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.ms": "604800000",
    "message.timestamp.type": "CreateTime",
}
PROBE = largest_probe_bytes("c", 4)


def topic(use=Use.PROBES, *, partitions=4, replicas=3, planned=4, interval_s=1.0, kept_s=60.0, **settings):
    told = {key.replace("_", "."): value for key, value in settings.items()}
    return CanaryTopic(
        name="c",
        kafka_cluster="A",
        use=use,
        settings=BROKERS_OWN | told,
        wished=CONTROL_SETTINGS if use is Use.CONTROL else PROBES_SETTINGS,
        partitions=partitions,
        replicas=replicas,
        planned=planned,
        record_bytes=control_probe_bytes() if use is Use.CONTROL else PROBE,
        interval_s=interval_s,
        kept_s=kept_s,
    )


@pytest.mark.parametrize("use", Use)
def test_nothing_is_said_of_what_a_broker_gives_by_itself(use):
    assert advise(topic(use)) == ()


@pytest.mark.parametrize(("use", "config"), [(Use.PROBES, PROBES_SETTINGS), (Use.CONTROL, CONTROL_SETTINGS)])
def test_nothing_is_said_of_the_topics_that_we_make(use, config):
    assert advise(topic(use, **{key.replace(".", "_"): value for key, value in config.items()})) == ()


@pytest.mark.parametrize(
    "settings",
    [
        {"retention_ms": "60000"},  # as long as the horizon
        {"retention_ms": "31536000000000"},  # a thousand years are much, and harm nothing
        {"retention_ms": "-1", "retention_bytes": "1000000"},
        {"retention_bytes": str(PROBE * 61)},
        {"max_message_bytes": str(PROBE)},
        {"min_insync_replicas": "3"},
        {"message_timestamp_type": "LogAppendTime"},
        {"segment_ms": "9223372036854775807"},  # a segment is full within a month
        {"partitions": 9},
        {"planned": None, "partitions": 1},
        {"replicas": None, "min_insync_replicas": "9"},
        {"retention_ms": "not a number"},
    ],
)
def test_nothing_is_said_where_it_does_not_matter(settings):
    assert advise(topic(**settings)) == ()
    assert advise(topic(Use.COPIES, **settings)) == ()


@pytest.mark.parametrize(
    ("settings", "said", "breaks"),
    [
        ({"partitions": 1}, "c on A has 1 partition; 4 would cover more tasks", False),
        ({"partitions": 2}, "--topic c --partitions 4, or set canary.grow: true", False),
        (
            {"max_message_bytes": str(PROBE - 1)},
            (
                f"refuses probes: max.message.bytes is {PROBE - 1}, and a probe has up to {PROBE} bytes."
                " Set max.message.bytes=1024."
            ),
            True,
        ),
        (
            {"min_insync_replicas": "2", "replicas": 1},
            (
                "requires 2 replicas in sync (min.insync.replicas) and has 1 replica of each partition. Kafka"
                " then requires all of them, so each record is stored on one broker only. Add replicas, or"
                " set min.insync.replicas=1."
            ),
            False,
        ),
        (
            {"min_insync_replicas": "4"},
            (
                "and has 3 replicas of each partition. Kafka then requires all of them, so it refuses probes"
                " as soon as one replica is not in sync. Add replicas, or set min.insync.replicas=2."
            ),
            False,
        ),
        (
            {"cleanup_policy": "compact"},
            "is compacted (cleanup.policy=compact): each probe has its own key, so Kafka removes only dup",
            False,
        ),
        (
            {"cleanup_policy": "compact,delete"},
            (
                "is compacted (cleanup.policy=compact,delete): Kafka may remove a duplicate of a probe before"
                " the canary reads it. Set cleanup.policy=delete."
            ),
            False,
        ),
        (
            {"retention_ms": "59999"},
            "keeps records for only 1 min (retention.ms=59999), and the canary waits up to 1 min",
            True,
        ),
        ({"retention_ms": "0"}, "(retention.ms=0)", True),
        ({"retention_bytes": str(PROBE * 60)}, "less than 1 min of probes (", True),
        (
            {"retention_ms": "-1"},
            "keeps every record for ever (retention.ms=-1) and grows by",
            False,
        ),
        (
            {"segment_ms": "9223372036854775807", "interval_s": 3600.0},
            "rolls a segment only after years (segment.ms=9223372036854775807)",
            False,
        ),
    ],
)
def test_each_rule_has_its_sentence(settings, said, breaks):
    (advice,) = advise(topic(**settings))
    assert said in advice.sentence
    assert advice.breaks is breaks
    assert advice.sentence.startswith("c on A ")
    assert advice.sentence.endswith(".")


def test_what_is_done_to_a_copy_is_done_to_its_source_too():
    (advice,) = advise(topic(Use.COPIES, retention_ms="1000"))
    assert "it reports one that was deleted unread as lost" in advice.sentence
    assert advice.sentence.endswith(
        "Set retention.ms=86400000, here and on its source, whose settings MirrorMaker copies."
    )


def test_a_control_topic_that_is_compacted_takes_no_record_without_a_key():
    (advice,) = advise(topic(Use.CONTROL, cleanup_policy="compact,delete"))
    assert "control probes have no key and are refused" in advice.sentence
    assert advice.breaks


@pytest.mark.parametrize(
    ("use", "kept_ms", "segment_ms"),
    [
        (Use.PROBES, 86_400_000, 21_600_000),
        (Use.COPIES, 86_400_000, 21_600_000),
        (Use.CONTROL, 3_600_000, 600_000),
    ],
)
def test_what_is_advised_is_what_run_would_have_made(use, kept_ms, segment_ms):
    for settings, wished in (
        ({"retention_ms": "1"}, f"Set retention.ms={kept_ms}"),
        ({"retention_ms": "-1"}, f"Set retention.ms={kept_ms}"),
        ({"segment_ms": str(2**63 - 1), "segment_bytes": str(2**40)}, f"Set segment.ms={segment_ms}"),
    ):
        (advice,) = advise(topic(use, **settings))
        assert wished in advice.sentence


def test_without_any_setting_only_partitions_are_judged():
    bare = CanaryTopic(
        name="c",
        kafka_cluster="A",
        use=Use.PROBES,
        settings={},
        wished=PROBES_SETTINGS,
        partitions=2,
        replicas=1,
        planned=3,
        record_bytes=400,
        interval_s=1.0,
        kept_s=60.0,
    )
    (advice,) = advise(bare)
    assert "has 2 partitions; 3 would" in advice.sentence


@given(
    st.dictionaries(
        st.sampled_from(sorted(BROKERS_OWN)),
        st.one_of(st.integers(-1, 2**63 - 1).map(str), st.text()),
        max_size=8,
    ),
    st.sampled_from(Use),
)
def test_whatever_a_cluster_tells_there_are_sentences_and_no_error(settings, use):
    found = advise(topic(use, **{key.replace(".", "_"): value for key, value in settings.items()}))
    assert all(one.sentence.startswith("c on A ") for one in found)
