"""What the documents say of a group is what Burrow's rules, one by one, say of the same windows."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

from fleet.wire.commits import (
    MemberAssigned,
    MemberDescribed,
    encode_commit_key,
    encode_commit_value,
)
from lagmon.burrow.api import BurrowCluster, answer
from lagmon.burrow.rules import BurrowPolicy, Commit, burrow_group, burrow_partition
from lagmon.cluster.state import ClusterLag
from lagmon.groups.rules.words import Status

NOW = 1_790_000_000_000
TOPICS = {"a": 3, "b": 2}
PARTITIONS = [(topic, partition) for topic, count in TOPICS.items() for partition in range(count)]

ENDS = st.lists(st.none() | st.integers(0, 60), min_size=len(PARTITIONS), max_size=len(PARTITIONS))
COMMITS = st.lists(
    st.tuples(st.sampled_from(PARTITIONS), st.integers(0, 60), st.integers(0, 40)), min_size=0, max_size=25
)
ROUNDS = st.lists(st.tuples(ENDS, COMMITS), min_size=1, max_size=13)
OWNED = st.sets(st.sampled_from(PARTITIONS))
SINCE_MS = st.sampled_from((0, 999, 5_000, 60_000, 7 * 86_400_000))


@given(ROUNDS, OWNED, SINCE_MS)
def test_status_and_lag_say_what_the_rules_say(rounds, owned, since_ms):
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    lag.note_topics(TOPICS)
    rings, seen_ends, committed = _play(lag, rounds)
    lag.membership.take(MemberDescribed("g", "m", None, "app", "/10.0.0.1", (), None))
    by_topic = {topic: tuple(part for name, part in sorted(owned) if name == topic) for topic in TOPICS}
    lag.membership.name_topics({topic: topic for topic in TOPICS})
    lag.membership.take(MemberAssigned("g", "m", tuple(by_topic.items())))
    now_ms = NOW + since_ms

    shown = [one for one in PARTITIONS if seen_ends[one] and (one in rings or one in owned)]
    verdicts = [
        burrow_partition(_ring(rings.get(one, [])), seen_ends[one][-10:], now_ms, BurrowPolicy())
        for one in shown
    ]
    kept = [committed[one] for one in rings if seen_ends[one]]
    group = burrow_group(verdicts, max(kept, default=None), now_ms, BurrowPolicy())
    event(group.reason.name)

    for what in ("lag", "status"):
        code, document = answer(
            f"/v3/kafka/c/consumer/g/{what}", {"c": BurrowCluster("c", lag)}, host="h", url="u", now_ms=now_ms
        )
        status = document["status"]
        assert status["status"] == group.status.name
        assert status["complete"] == group.complete
        assert status["totallag"] == group.total_lag
        if group.status is Status.NOTFOUND:
            assert (code, status["partitions"], status["maxlag"]) == (404, [], None)
            continue
        assert code == 200
        assert status["partition_count"] == len(shown)
        assert (status["maxlag"]["topic"], status["maxlag"]["partition"]) == shown[group.max_lag]
        expected = [
            (*name, verdict.status.name, verdict.complete, verdict.current_lag, *_shown(rings.get(name, [])))
            for name, verdict in zip(shown, verdicts, strict=True)
            if what == "lag" or verdict.status > Status.OK
        ]
        assert [_told(one) for one in status["partitions"]] == expected
        assert {
            one["owner"] for one in status["partitions"] if (one["topic"], one["partition"]) in owned
        } <= {"/10.0.0.1"}


def _play(lag, rounds):
    """Read ends and commits ten seconds apart, and keep the same by the simplest means."""
    rings, seen_ends, committed = {}, {one: [] for one in PARTITIONS}, {}
    for number, (ends, commits) in enumerate(rounds):
        at_ms = NOW - 10_000 * (len(rounds) - number)
        for one, end in zip(PARTITIONS, ends, strict=True):
            if end is not None:
                if seen_ends[one] and end < seen_ends[one][-1]:  # what an end that fell leaves behind
                    seen_ends[one] = [min(before, end) for before in seen_ends[one]]
                seen_ends[one].append(end)
        places = np.array([lag.places.of(topic)[part] for topic, part in PARTITIONS], np.int32)
        lag.heads.note(places, np.array([-1 if end is None else end for end in ends], np.int64), at_ms)
        keys, values = [], []
        for (topic, part), offset, after_s in commits:
            keys.append(encode_commit_key("g", topic, part))
            values.append(encode_commit_value(offset, at_ms + 1000 * after_s))
            end = seen_ends[topic, part][-1] if seen_ends[topic, part] else None
            known = None if end is None else max(0, end - offset)
            rings.setdefault((topic, part), []).append(Commit(offset, at_ms + 1000 * after_s, known))
            committed[topic, part] = at_ms + 1000 * after_s
        lag.intake.take(keys, values, read_ms=at_ms, live=True)
    return rings, seen_ends, committed


def _ring(commits):
    kept = commits[-10:]
    return [None] * (10 - len(kept)) + kept


def _shown(commits):
    kept = commits[-10:]
    return (
        tuple((one.offset, one.committed_ms, one.lag) for one in (kept[0], kept[-1]))
        if kept
        else (None, None)
    )


def _told(one):
    ends = (
        None if one[end] is None else (one[end]["offset"], one[end]["timestamp"], one[end]["lag"])
        for end in ("start", "end")
    )
    return (
        one["topic"],
        one["partition"],
        one["status"],
        one["complete"],
        one["current_lag"],
        *ends,
    )
