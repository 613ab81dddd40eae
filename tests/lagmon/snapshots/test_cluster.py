"""A cluster that is restored after a restart is judged as if it had been polled all the time, or more mildly."""

from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.errors import MalformedError
from fleet.wire.commits import encode_commit_key, encode_commit_value
from lagmon.cluster.marks import NEVER
from lagmon.cluster.state import ClusterLag
from lagmon.groups.rules.words import RANK, STATUS_OF, Reason, Status
from lagmon.logs.head_history import HORIZON_MS
from lagmon.logs.readable_gaps import Seen
from lagmon.snapshots.cluster import PLACES_AT_ONCE, frames_of, read_cluster, take_up, take_up_topics
from lagmon.snapshots.frames import seal, unseal

NOW = 1_790_000_000_000
S = 1000
LOOK = 10 * S
PARTITIONS = 50  # of the commits
TOPICS = {"t": 2, "u": 1}
WHERE = [("t", 0), ("t", 1), ("u", 0)]


class World:
    """Logs and the commits to them; any number of lags may watch it, from any instant on."""

    def __init__(self):
        self.now = NOW
        self.ends = dict.fromkeys(WHERE, 0)
        self.commits = []  # as they were made

    def watcher(self):
        lag = ClusterLag(wanted=lambda *_: True)
        lag.begin_commits(PARTITIONS)
        return lag

    def commit(self, group, topic, partition, offset):
        key, value = encode_commit_key(group, topic, partition), encode_commit_value(offset, self.now)
        self.commits.append((key, value))

    def look(self, lag):
        places = np.array([lag.places.of(topic)[number] for topic, number in WHERE], np.int32)
        ends = np.array([self.ends[one] for one in WHERE], np.int64)
        lag.note_polled(places, ends, ends, self.now)
        lag.heads.note_starts(places, np.zeros(len(WHERE), np.int64))

    def read(self, lag, *, since=0, live=True):
        for key, value in self.commits[since:]:
            lag.intake.take([key], [value], read_ms=self.now, live=live)
        for number in range(PARTITIONS):
            lag.note_read(number, self.now)


def kept(lag, now_ms, cluster_id="X"):
    return read_cluster(
        b"".join(frames_of(lag, contextlib.nullcontext(), cluster_id=cluster_id, now_ms=now_ms))
    )


def restarted(world, lag, *, partitions=TOPICS):
    """Return another that took up what this one knew, and has read the commits anew."""
    again = world.watcher()
    take_up(again, kept(lag, world.now), partitions=partitions, now_ms=world.now)
    again.note_topics(partitions)
    return again


def told(lag, now_ms):
    """Return by group, topic and partition: reason, since when, lag in records and seconds."""
    sight, found = lag.see(now_ms), {}
    for _, group in lag.slots.groups():
        for slot in lag.slots.of(group).tolist():
            name = group, *lag.places.name(int(lag.slots.place[slot]))
            found[name] = (
                Reason(int(sight.rows.reason[slot])),
                sight.rows.facts(slot).since_ms,
                int(sight.rows.lag[slot]),
                float(sight.lag_s[slot]),
            )
    return found


written = st.sampled_from([0, 0, 1, 7, 300])
does = st.sampled_from(["nothing", "nothing", "reads all", "reads some", "again", "goes back"])
looks = st.lists(
    st.tuples(st.tuples(written, written, written), st.tuples(*[does] * 6)), min_size=3, max_size=16
)


def live(world, lag, happenings, at=None):
    """Let things happen, a look at their end each, watched by a lag unless that is None."""
    at = {} if at is None else at
    for counts, deeds in happenings:
        for where, count in zip(WHERE, counts, strict=True):
            world.ends[where] += count
        for number, deed in enumerate(deeds):
            group, where = f"g{number % 2}", WHERE[number // 2]
            name, end = (group, where), world.ends[where]
            before = at.get(name, 0)
            to = {
                "reads all": end,
                "reads some": before + (end - before + 1) // 2,
                "again": before,
                "goes back": before // 2,
            }.get(deed)
            if to is not None:
                at[name] = to
                world.now += 100
                world.commit(group, *where, to)
                if lag is not None:
                    world.read(lag, since=len(world.commits) - 1)
        world.now += LOOK - 600
        if lag is not None:
            world.read(lag, since=len(world.commits))
            world.look(lag)
    return at


def begun(happenings):
    world = World()
    lag = world.watcher()
    lag.note_topics(TOPICS)
    world.look(lag)
    return world, lag, live(world, lag, happenings)


MILDER = {Reason.GROWING: {Reason.MOVING, Reason.PAUSING}}  # lags at earlier commits are not known any more


@given(looks)
@settings(deadline=None, max_examples=60)
def test_what_was_taken_up_is_judged_as_before(happenings):
    world, lag, _ = begun(happenings)
    again = restarted(world, lag)
    world.read(again, live=False)
    before, after = told(lag, world.now), told(again, world.now)
    assert before.keys() == after.keys()
    for name, (reason, since_ms, *lags) in before.items():
        if reason in MILDER and after[name][0] is not reason:
            assert after[name][0] in MILDER[reason]
        else:
            assert after[name] == (reason, since_ms, *lags)


@given(looks, looks, st.sampled_from([0, 3, 60, 300, 7200]))
@settings(deadline=None, max_examples=60)
def test_what_happened_while_nothing_was_polled_is_no_reason_for_an_alarm(happenings, meanwhile, away_s):
    world, lag, at = begun(happenings)
    again, left = restarted(world, lag), world.now
    stopped = {
        name: one
        for name, one in told(lag, world.now).items()
        if STATUS_OF[one[0]] in (Status.STOP, Status.STALL)
    }
    world.now += away_s * S
    live(world, lag, meanwhile, at)
    world.now += S
    world.look(lag)
    world.look(again)
    world.read(again, live=False)
    before, after = told(lag, world.now), told(again, world.now)
    for name, (reason, since_ms, *_) in after.items():
        if RANK[STATUS_OF[reason]] > RANK[STATUS_OF[before[name][0]]]:
            # Who looked all the time may know of a pause that it is not long enough; never the other way.
            assert STATUS_OF[reason] is Status.UNKNOWN
        if name in stopped and before[name][:2] == stopped[name][:2]:
            assert (reason, since_ms) == stopped[name][:2]
        if since_ms > left and reason in (Reason.STOPPED, Reason.STALLED):
            assert since_ms <= world.now - again.policy.stopped_after_ms


def test_a_topic_that_was_recreated_by_a_clock_that_was_ahead_was_not_made_later_than_now():
    world, lag, _ = begun([((5, 0, 0), ("reads all", *["nothing"] * 5))] * 4)
    ahead_ms = world.now + 3600 * S  # the brokers' clocks are right, and ours is as we begin again
    lag.note_id("t", "one", ahead_ms)
    lag.note_id("t", "two", ahead_ms)
    again = world.watcher()
    take_up(again, kept(lag, ahead_ms), partitions=TOPICS, now_ms=world.now)
    again.note_topics(TOPICS)
    world.read(again, live=False)
    world.look(again)
    assert told(again, world.now)["g0", "t", 0][0] is Reason.RECREATED
    world.now += S
    world.commit("g0", "t", 0, world.ends["t", 0])
    world.read(again, since=len(world.commits) - 1)
    world.look(again)
    assert told(again, world.now)["g0", "t", 0][0] is Reason.CAUGHT_UP


def test_a_batch_after_a_long_silence_is_no_stop_at_the_first_poll():
    world, lag, _ = begun([((5, 0, 0), ("reads all", *["nothing"] * 5))] * 4)
    again = restarted(world, lag)
    world.now += 600 * S
    world.ends["t", 0] += 1000  # a moment ago: the group has not seen them yet
    world.look(again)
    world.read(again, live=False)
    assert told(again, world.now)["g0", "t", 0][0] is Reason.HISTORY_SHORT
    world.now += 30 * S
    world.look(again)
    world.read(again, since=len(world.commits))
    assert told(again, world.now)["g0", "t", 0][0] is Reason.HISTORY_SHORT
    world.now += 40 * S  # by now it has had its time
    world.look(again)
    world.read(again, since=len(world.commits))
    reason, since_ms, *_ = told(again, world.now)["g0", "t", 0]
    assert (reason, since_ms) == (Reason.STOPPED, world.now - 70 * S)


def test_after_a_short_restart_one_that_pauses_is_reported_to_pause():
    world, lag, _ = begun([((5, 0, 0), ("reads all", *["nothing"] * 5))] * 4)
    again = restarted(world, lag)
    world.now += 70 * S
    world.ends["t", 0] += 3
    world.look(again)
    world.read(again, live=False)
    assert told(again, world.now)["g0", "t", 0][0] in (Reason.PAUSING, Reason.MOVING)


def test_without_what_was_known_a_group_that_stopped_is_not_known_to_have():
    # The control of the tests above: they would not hold of one who begins anew.
    world, lag, _ = begun(
        [((5, 0, 0), ("reads some", *["nothing"] * 5))] + [((0, 0, 0), ["nothing"] * 6)] * 12
    )
    assert told(lag, world.now)["g0", "t", 0][0] is Reason.STOPPED
    again = world.watcher()
    again.note_topics(TOPICS)
    world.look(again)
    world.read(again, live=False)
    assert told(again, world.now)["g0", "t", 0][0] is not Reason.STOPPED


def test_a_topic_that_was_recreated_meanwhile_is_known_by_its_id():
    world, lag, _ = begun([((5, 0, 0), ("reads some", *["nothing"] * 5))] * 4)
    lag.note_id("t", "old", world.now)
    lag.note_id("u", "same", world.now)
    again = restarted(world, lag)
    assert again.ids == {}
    assert again.watched_topics() == [
        "t",
        "u",
    ]  # to be asked for at the first look, before any commit is read
    world.read(again, live=False)
    world.now += LOOK
    assert not again.note_id("u", "same", world.now)
    assert again.note_id("t", "new", world.now)
    world.now += LOOK
    world.look(again)
    assert told(again, world.now)["g0", "t", 0][0] is Reason.RECREATED
    # And so it stays over one more restart, for as long as the group commits nothing.
    third = restarted(world, again)
    world.look(third)
    world.read(third, live=False)
    assert told(third, world.now)["g0", "t", 0][0] is Reason.RECREATED
    assert not third.note_id("t", "new", world.now)


def test_an_id_that_was_not_read_again_is_kept_for_the_next():
    world, lag, _ = begun([((5, 0, 0), ["nothing"] * 6)] * 3)
    lag.note_id("t", "old", world.now)
    again = restarted(world, restarted(world, lag))
    assert again.note_id("t", "new", world.now)


def test_partitions_and_topics_that_went_are_not_made_up():
    world, lag, _ = begun([((5, 6, 7), ["reads all"] * 6)] * 3)
    again = restarted(world, lag, partitions={"t": 1, "u": 1})
    assert [again.heads.end[again.places.of(topic)].tolist() for topic in ("t", "u")] == [[15], [21]]
    lag.note_id("u", "gone", world.now)
    again = restarted(world, lag, partitions={"t": 1, "new": 3})
    assert again.places.topics == ["new", "t"]
    assert len(again.places.of("t")) == 1
    assert again.heads.end[again.places.of("t")].tolist() == [15]
    assert again.heads.end[again.places.of("new")].tolist() == [-1] * 3
    assert again.former_ids == {}


def test_a_transaction_that_held_up_readers_counts_over_a_restart():
    world, lag, _ = begun([((5, 0, 0), ("reads all", *["nothing"] * 5))] * 4)
    world.ends["t", 0] += 5
    place = np.array([lag.places.of("t")[0]], np.int32)
    for _ in range(9):
        world.now += LOOK
        lag.note_polled(place, np.array([25]), np.array([20]), world.now)
        world.read(lag, since=len(world.commits))
    again = restarted(world, lag)
    for one in (lag, again):
        one.note_polled(place, np.array([25]), np.array([25]), world.now)
        world.read(one, since=0 if one is again else len(world.commits), live=False)
    assert told(again, world.now)["g0", "t", 0] == told(lag, world.now)["g0", "t", 0]
    assert told(again, world.now)["g0", "t", 0][0] is not Reason.STOPPED


def test_a_transaction_behind_what_a_group_has_to_read_holds_it_up_no_more_after_a_restart():
    world, lag, _ = begun([((5, 0, 0), ("reads all", *["nothing"] * 5))] * 4)
    place = np.array([lag.places.of("t")[0]], np.int32)
    for end in range(30, 120, 10):  # the first of these records can be read at the first of these looks
        world.now += LOOK
        lag.note_polled(place, np.array([end]), np.array([end - 5]), world.now)
    world.read(lag, since=len(world.commits))
    again = restarted(world, lag)
    again.note_polled(place, np.array([120]), np.array([115]), world.now)
    world.read(again, live=False)
    assert told(again, world.now)["g0", "t", 0][:2] == told(lag, world.now)["g0", "t", 0][:2]
    assert told(again, world.now)["g0", "t", 0][0] is Reason.STOPPED


@pytest.mark.parametrize(
    ("kept", "known"),
    [
        ([NOW - S], (NOW - S, 0, NOW - S)),
        ([NOW - S, 7], (NOW - S, 7, NOW - S)),
        ([NOW - S, 7, 5], (NOW - S, 7, 5)),
    ],
)
def test_what_an_earlier_program_kept_of_transactions_holds_up_until_then(kept, known):
    lag, _ = many(1)
    document, heads = next(
        unseal(list(frames_of(lag, contextlib.nullcontext(), cluster_id="X", now_ms=NOW))[1])
    )
    found = read_cluster(seal(HEAD) + seal(document | {"held": [[1, *kept]]}, heads))
    again = ClusterLag(wanted=lambda *_: True)
    take_up(again, found, partitions={"topic0": 3}, now_ms=NOW)
    assert again.marks(again.places.of("topic0"))[1] == [NEVER, known, NEVER]


def test_where_there_is_nothing_to_read_is_known_after_a_restart_where_retention_took_the_log_as_well():
    world, lag, _ = begun([((5, 0, 0), ("reads all", *["nothing"] * 5))] * 4)
    lag.note_id("t", "one", world.now)
    world.ends["t", 0] += 1  # a marker
    for _ in range(12):
        world.now += LOOK
        world.look(lag)
    due = lag.tails_due(world.now)
    lag.readable.note_asked([one.place for one in due], world.now)
    lag.readable.note([Seen(one.place, one.first, one.end, is_record=False) for one in due])
    again = restarted(world, lag)
    world.read(again, live=False)
    world.look(again)
    again.heads.note_starts(np.array([again.places.of("t")[0]], np.int32), np.array([21]))
    assert told(again, world.now)["g0", "t", 0][0] is Reason.CAUGHT_UP
    again.note_id("t", "another", world.now)
    assert again.readable.gaps(np.array(again.places.of("t"), np.int32)) == [[], []]


def test_where_logs_ended_more_than_a_day_ago_is_of_no_use_and_ids_are():
    world, lag, _ = begun([((5, 0, 0), ["nothing"] * 6)] * 3)
    lag.note_id("t", "old", world.now)
    found = kept(lag, world.now)
    again = world.watcher()
    take_up(again, found, partitions=TOPICS, now_ms=world.now + HORIZON_MS + 1)
    assert again.heads.end[again.places.of("t")].tolist() == [-1, -1]
    assert again.former_ids == {"t": "old"}
    again = world.watcher()
    take_up(again, found, partitions=TOPICS, now_ms=world.now + HORIZON_MS)
    assert again.heads.end[again.places.of("t")].tolist() == [15, 0]


def test_when_we_were_away_is_known_over_several_restarts():
    world, lag, _ = begun([((5, 0, 0), ["nothing"] * 6)] * 3)
    spans = []
    for _ in range(10):
        left = world.now
        again = restarted(world, lag)
        world.now += 90 * S
        world.look(again)
        spans.append((left, world.now))
        lag = again
    assert lag.heads.away == spans[-8:]


def test_a_topic_of_the_second_list_takes_from_no_other_what_was_seen_since_the_start():
    world, lag, _ = begun([((5, 0, 0), ["nothing"] * 6)] * 3)
    left, known = world.now, kept(lag, world.now)
    again = world.watcher()
    take_up(again, known, partitions={"t": 2}, now_ms=world.now)
    again.note_topics({"t": 2})
    at = np.array(again.places.of("t"), np.int32)
    for second in (10, 20, 30):
        again.note_polled(at, np.full(2, 100 + second), np.full(2, 100 + second), left + second * S)
    passed = again.heads.passed_ms(at, np.full(2, 115))
    assert take_up_topics(again, known, partitions={"u": 1}, now_ms=left + 35 * S) == 1
    again.note_topics(TOPICS)
    world.now = left + 40 * S
    world.ends |= dict.fromkeys(WHERE[:2], 140)
    world.look(again)
    assert again.heads.away == [(left, left + 10 * S)]
    assert [one.tolist() for one in again.heads.passed_ms(at, np.full(2, 115))] == [
        one.tolist() for one in passed
    ]


def without_answer(world, lag, *, looks):
    for _ in range(looks):
        world.now += 20 * S
        lag.note_answer(world.now, "No broker of X answers.")


def answered(world, lag, *, live=True):
    world.now += LOOK
    world.look(lag)
    lag.note_answer(world.now)
    world.read(lag, since=len(world.commits) if live else 0, live=live)


@pytest.mark.parametrize("looks", [(10, 0), (1, 9), (0, 10)], ids=["before", "both", "after"])
def test_a_group_has_its_time_to_come_back_also_where_we_started_again_while_its_cluster_was_away(looks):
    world, lag, _ = begun([((5, 0, 0), ("reads some", *["nothing"] * 5))] * 4)
    without_answer(world, lag, looks=looks[0])
    again = restarted(world, lag)
    without_answer(world, again, looks=looks[1])
    answered(world, again, live=False)
    assert told(again, world.now)["g0", "t", 0][0] is Reason.CLUSTER_BACK
    third = restarted(world, again)  # and also if we begin anew once more
    answered(world, third, live=False)
    assert told(third, world.now)["g0", "t", 0][0] is Reason.CLUSTER_BACK
    for _ in range(6):
        answered(world, third)
    assert told(third, world.now)["g0", "t", 0][0] is Reason.STOPPED


def test_a_cluster_that_was_not_away_while_we_were_gives_nobody_time():
    world, lag, _ = begun([((5, 0, 0), ("reads some", *["nothing"] * 5))] * 4)
    again = restarted(world, lag)
    world.now += 200 * S
    answered(world, again, live=False)
    assert told(again, world.now)["g0", "t", 0][0] is Reason.STOPPED


def test_what_an_earlier_program_kept_shows_no_absence():
    world, lag, _ = begun([((5, 0, 0), ("reads some", *["nothing"] * 5))] * 4)
    without_answer(world, lag, looks=10)
    frames = [*frames_of(lag, contextlib.nullcontext(), cluster_id="X", now_ms=world.now)]
    [(head, _)] = unseal(frames[0])
    del head["absence"]
    again = world.watcher()
    take_up(again, read_cluster(seal(head) + b"".join(frames[1:])), partitions=TOPICS, now_ms=world.now)
    again.note_topics(TOPICS)
    answered(world, again, live=False)
    assert told(again, world.now)["g0", "t", 0][0] is Reason.STOPPED


def many(count):
    lag = ClusterLag(wanted=lambda *_: True)
    lag.note_topics({f"topic{number}": 3 for number in range(count)})
    places = np.array([one for topic in lag.topics for one in lag.places.of(topic)], np.int32)
    lag.note_polled(places, np.arange(3 * count), np.arange(3 * count), NOW)
    return lag, places


def test_many_partitions_are_replicated_a_few_thousand_at_a_time():
    lag, places = many(PLACES_AT_ONCE)
    held = []

    class Watched(contextlib.AbstractContextManager):
        def __enter__(self):
            held.append(0)

        def __exit__(self, *_):
            return None

    payload = b"".join(frames_of(lag, Watched(), cluster_id="X", now_ms=NOW))
    assert len(held) == 5  # the first time to see when it was away
    found = read_cluster(payload)
    assert max(sum(part.counts) for part in found.topics) <= PLACES_AT_ONCE
    again = ClusterLag(wanted=lambda *_: True)
    assert take_up(again, found, partitions=lag.topics, now_ms=NOW) == PLACES_AT_ONCE
    here = [one for topic in lag.topics for one in again.places.of(topic)]
    assert again.heads.end[here].tolist() == lag.heads.end[places].tolist()


def test_topics_that_appear_and_go_while_it_is_taken_do_no_harm():
    lag, _ = many(PLACES_AT_ONCE)
    lock = threading.Lock()
    frames = frames_of(lag, lock, cluster_id="X", now_ms=NOW)
    found = [next(frames), next(frames)]
    lag.note_topics({"topic0": 3, "other": 2} | {f"topic{n}": 3 for n in range(3000, PLACES_AT_ONCE)})
    found += list(frames)
    again = ClusterLag(wanted=lambda *_: True)
    take_up(again, read_cluster(b"".join(found)), partitions=lag.topics, now_ms=NOW)
    for topic in ("topic0", "topic3000", f"topic{PLACES_AT_ONCE - 1}"):
        number = int(topic[5:])
        assert again.heads.end[again.places.of(topic)].tolist() == [3 * number + one for one in range(3)]


HEAD = {
    "kind": "cluster",
    "cluster_id": "X",
    "taken_ms": NOW,
    "away": [],
    "absence": [NOW, NOW + 40 * S, 0, NOW + 50 * S, 0],
}
NO_TOPICS = {"names": [], "counts": [], "ids": [], "remade": [], "held": [], "gaps": []}


@pytest.mark.parametrize(
    ("frames", "sentence"),
    [
        ([(HEAD | {"kind": "flow"}, b"")], "snapshot: not of a cluster"),
        ([(HEAD | {"cluster_id": 5}, b"")], "expected a text"),
        ([(HEAD | {"taken_ms": 10**15}, b"")], "expected a number"),
        ([(HEAD | {"away": [[1]]}, b"")], "expected a list"),
        ([(HEAD | {"away": [[1, 2]] * 9}, b"")], "invalid list of downtimes"),
        ([(HEAD | {"absence": [NOW] * 4}, b"")], "expected a list"),
        ([(HEAD | {"absence": [-2] * 5}, b"")], "expected a number"),
        ([(HEAD, b""), (NO_TOPICS | {"ids": ["a"]}, b"")], "snapshot: topics without names or ids"),
        (
            [(HEAD, b""), (NO_TOPICS | {"names": ["a"], "ids": [""], "counts": [10**7]}, b"")],
            "expected a number",
        ),
        (
            [
                (HEAD, b""),
                (NO_TOPICS | {"names": ["a"] * 2, "ids": [""] * 2, "counts": [10**6] * 2}, b""),
            ],
            "snapshot: more than 1000000 partitions",
        ),
        (
            [(HEAD, b""), (NO_TOPICS | {"names": ["a" * 250], "ids": [""], "counts": [0]}, b"")],
            "expected a text",
        ),
        ([(HEAD, b""), (NO_TOPICS, b"")], "snapshot of positions: 0 bytes"),
    ],
)
def test_what_is_wrong_is_reported(frames, sentence):
    with pytest.raises(MalformedError, match=sentence):
        read_cluster(b"".join(seal(*one) for one in frames))


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"remade": [[3, NOW]]}, "snapshot: unknown partition"),
        ({"held": [[0]]}, "expected a list"),
        ({"held": [[0, NOW, -1]]}, "expected a number"),
        ({"gaps": [[0, 1, 2]]}, "expected a list"),
        ({"gaps": [[0, 5, 4, -1]]}, "ends before it begins"),
        ({"gaps": [[0, 2 * one, 2 * one + 1, -1] for one in range(5)]}, "more than 4 gaps of a log"),
    ],
)
def test_wrong_data_of_partitions_is_refused_in_words(told, sentence):
    lag, _ = many(1)
    document, heads = next(
        unseal(list(frames_of(lag, contextlib.nullcontext(), cluster_id="X", now_ms=NOW))[1])
    )
    with pytest.raises(MalformedError, match=sentence):
        read_cluster(seal(HEAD) + seal(document | told, heads))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.just(NOW) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(sorted(HEAD)), values),
    st.dictionaries(st.sampled_from(sorted(NO_TOPICS)), values),
)
@settings(max_examples=150, deadline=None)
def test_other_documents_are_refused_in_words_or_harmless(head, topics):
    lag, _ = many(1)
    body = list(frames_of(lag, contextlib.nullcontext(), cluster_id="X", now_ms=NOW))[1]
    document, heads = next(unseal(body))
    try:
        found = read_cluster(seal(HEAD | head) + seal(document | topics, heads))
    except MalformedError:
        return
    again = ClusterLag(wanted=lambda *_: True)
    take_up(again, found, partitions={"topic0": 3}, now_ms=NOW)
    again.note_topics({"topic0": 3})
    again.see(NOW)
