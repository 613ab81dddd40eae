"""The prober over clusters that are played: topics come, go and are made anew, questions fail, clients break."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from canary.config import CanaryConfig
from canary.flows import CanaryFlow
from canary.persistence.inherited import InheritedState
from canary.prober import Prober
from canary.site import probing, reader
from canary.site.sending import Sending
from canary.tracker.plan import PROBES_SETTINGS
from canary.tracker.stamp import Stamp, encode
from fleet.errors import ConfigurationError, Problem, RefusedError, UnavailableError
from fleet.verdicts.evidence import CanaryState, Control
from fleet.verdicts.judgement import judge
from fleet.verdicts.vocabulary import Verdict
from runtime.kafka.admin import ClusterDescription, NewTopicRequest, TopicDescription
from runtime.kafka.sender import Delivered
from runtime.kafka.tap import TapFault, TappedRecord
from tests.runtime.fake_clock import FakeClock


class PlayedTap:
    def __init__(self, _settings, *, name, sink, lazy, **_more):
        self.name, self.sink, self.lazy, self.last_poll_ns = name, sink, lazy, 0
        self.places = {}
        self.stopped = False
        self.dead = False

    def start(self, places):
        self.places = {(one.topic, one.partition): one.offset for one in places}

    def stop(self):
        self.stopped = True

    def join(self, _timeout_s):
        return True


class PlayedSender:
    def __init__(self, _settings, *, sink, **_more):
        self.broken = False
        self.sink = sink
        self.sent = []
        self.ended = False

    def start(self):
        pass

    def send(self, _topic, _partition, *, tag, **_record):
        assert not self.ended
        self.sent.append(tag)
        return True

    def flush(self, _timeout_s):
        return 0

    def stop(self):
        self.ended = True

    def join(self, _timeout_s):
        return True


class PlayedAdmin:
    def __init__(self):
        self.topics = {}
        self.ends = {}
        self.failing = []  # names of questions that fail once each
        self.made = []
        self.grown = []
        self.settings = {}  # by topic; an error is raised

    async def describe_topic_config(self, name):
        found = self.settings.get(name, {})
        if isinstance(found, Exception):
            raise found
        return found

    async def grow_topic(self, name, partitions):
        self.fail("grow")
        self.grown.append((name, partitions))

    async def describe_topics(self, names):
        self.fail("describe")
        return {name: self.topics.get(name) for name in names}

    async def offsets_since(self, topic, partitions, **_since):
        self.fail("since")
        return {number: self.ends.get((topic, number), 0) for number in partitions}

    async def end_offsets(self, topic, partitions, **_lenient):
        self.fail("ends")
        return {number: self.ends.get((topic, number), 0) for number in partitions}

    async def start_offsets(self, _topic, partitions, **_lenient):
        return dict.fromkeys(partitions, 0)

    async def create_topic(self, request):
        self.fail("create")
        self.made.append(request)

    def fail(self, question):
        for one in self.failing:
            if one[0] == question:
                self.failing.remove(one)
                raise one[1]


@pytest.fixture
async def scene(monkeypatch):
    taps, senders = [], []
    monkeypatch.setattr(Sending, "start", lambda _self: None)  # ticks are handled by hand
    monkeypatch.setattr(reader, "Tap", lambda *a, **o: taps.append(PlayedTap(*a, **o)) or taps[-1])
    monkeypatch.setattr(
        probing, "Sender", lambda *a, **o: senders.append(PlayedSender(*a, **o)) or senders[-1]
    )
    monkeypatch.setattr(probing, "first_tick_ns", lambda now_ns, **_schedule: now_ns)
    clock, said = FakeClock(), {}
    reporter = SimpleNamespace(
        problem=said.__setitem__, settled=lambda where: said.pop(where, None), event=lambda *_a, **_f: None
    )
    flow = CanaryFlow("A->B", "A", "B", "c", "A.c", 5.0, 10.0, 1, exactly_once=False)
    prober = Prober(
        [flow],
        {"A": SimpleNamespace(), "B": SimpleNamespace()},
        CanaryConfig(topic="c"),
        installation="0" * 32,
        memory=SimpleNamespace(
            incarnation="00000000000000aa",
            watch=lambda _held: None,
            forget=lambda _held: None,
            note_carried=lambda *_: None,
            forget_loops=lambda _flow: None,
        ),
        inherited={"A->B": InheritedState(frozenset({("one", 0)}))},
        clock=clock,
        reporter=reporter,
    )
    for site in prober.sites.values():
        site.admin = PlayedAdmin()
        site.description = ClusterDescription("id", (1,))
    prober.sites["A"].admin.topics["c"] = TopicDescription("c", "one", (1,))
    prober.sites["B"].admin.topics["A.c"] = TopicDescription("A.c", "there", (1,))
    return SimpleNamespace(prober=prober, taps=taps, senders=senders, clock=clock, said=said)


async def look(scene, *aliases):
    for alias in aliases:
        await scene.prober.sites[alias]._poll(scene.prober)


def tick(scene, seconds=1.0):
    """Let a second pass, send what is due, and return the tags of what the newest sender was handed."""
    scene.clock.advance(seconds)
    before = len(scene.senders[-1].sent)
    if (sending := scene.prober.probings["A"]._sending) is not None:
        sending.send_due()
    scene.prober.drain()
    return scene.senders[-1].sent[before:]


def copy(scene, tag, offset, tap, topic="A.c"):
    stamp = Stamp("0" * 32, scene.prober.probings["A"]._incarnation, tag.sequence, tag.topic_id, "c", 0, 0)
    probe = encode(stamp)
    scene.prober._inbox.put(
        TappedRecord(
            tap, topic, 0, offset, offset + 1, probe.key, probe.value, list(probe.headers), scene.clock.now_ns
        )
    )
    scene.prober.drain()


def counters(scene):
    found = scene.prober.flows["A->B"].watch.counters
    assert found.discrepancies() == []
    return found


async def test_a_probe_goes_out_and_is_seen(scene):
    await look(scene, "A", "B")
    (tag,) = tick(scene, 0.0)
    scene.senders[0].sink(Delivered(tag, 0, scene.clock.now_ns))
    copy(scene, tag, 0, "B-tap-1")
    assert counters(scene).good == 1
    assert scene.prober.state("A->B") == (CanaryState.RUNNING, "")


@pytest.mark.parametrize("question", ["since", "ends"])
async def test_a_question_that_fails_is_asked_again_and_nothing_is_forgotten(scene, question):
    scene.prober.sites["B"].admin.failing.append((question, UnavailableError("no leader yet")))
    with pytest.raises(UnavailableError):
        await look(scene, "B")
    await look(scene, "B")
    assert scene.taps[-1].places == {("A.c", 0): 0}
    assert not scene.taps[-1].stopped
    assert len(scene.taps) == 1


async def test_nothing_of_the_old_topic_is_sent_once_the_new_one_is_known(scene, monkeypatch):
    await look(scene, "A", "B")
    first = tick(scene)
    assert {tag.topic_id for tag in first} == {"one"}
    scene.prober.sites["A"].admin.topics["c"] = TopicDescription("c", "two", (1, 1))
    meanwhile = []
    # The sending loop goes on while the readers are made anew.
    monkeypatch.setattr(scene.taps[0], "stop", lambda: meanwhile.extend(tick(scene)))
    await look(scene, "A")
    assert meanwhile == []
    assert len(scene.senders) == 2
    assert scene.senders[0].ended
    assert {tag.topic_id for tag in tick(scene)} == {"two"}
    assert counters(scene).unknown == len(first)
    assert scene.taps[-1].places[("c", 0)] == scene.taps[-1].places[("c", 1)] == 0


async def test_a_topic_that_may_not_be_seen_is_why_nothing_is_sent(scene):
    async def refuse(_names):
        raise RefusedError("not allowed to see c")

    admin = scene.prober.sites["A"].admin
    seen, admin.describe_topics = admin.describe_topics, refuse
    assert scene.prober.state("A->B") == (CanaryState.WAITING, "the source cluster has not answered yet")
    with pytest.raises(RefusedError):
        await look(scene, "A")
    assert scene.prober.state("A->B") == (CanaryState.WAITING, "not allowed to see c")
    admin.describe_topics = seen
    await look(scene, "A")
    assert scene.prober.state("A->B") == (CanaryState.RUNNING, "")


async def test_a_source_that_lets_no_one_in_is_why_nothing_is_sent(scene):
    control = scene.prober.sites["A"].control
    control.become(Control.UNKNOWN, "A refused the name or password of mirrorwatch", 5.0)
    said = (CanaryState.WAITING, "A refused the name or password of mirrorwatch")
    assert scene.prober.state("A->B") == said
    judged = judge(scene.prober.evidence("A->B"), now_at=scene.clock.wall_s())
    assert (judged.verdict, judged.cause) == (Verdict.UNKNOWN, None)
    assert judged.sentence == f"No canary records are sent: {said[1]}."


async def test_a_topic_that_was_never_seen_is_awaited_and_not_called_gone(scene):
    admin = scene.prober.sites["A"].admin
    admin.topics["c"] = None
    await look(scene, "A")
    assert [request.name for request in admin.made] == ["c"]
    said = "starting: the topic c does not exist on A yet; creating it"
    assert scene.prober.state("A->B") == (CanaryState.WAITING, said)
    judged = judge(scene.prober.evidence("A->B"), now_at=scene.clock.wall_s())
    assert judged.sentence == f"No canary records are sent: {said}."
    admin.topics["c"] = TopicDescription("c", "one", (1,))
    await look(scene, "A")
    assert scene.prober.state("A->B") == (CanaryState.RUNNING, "")
    admin.topics["c"] = None
    await look(scene, "A")
    assert scene.prober.state("A->B") == (CanaryState.WAITING, "the topic c was deleted on A")


async def test_a_topic_that_is_gone_is_made_again_and_says_so_meanwhile(scene):
    admin = scene.prober.sites["A"].admin
    await look(scene, "A", "B")
    admin.topics["c"] = None
    admin.failing.append(("create", RefusedError("not allowed to create c")))
    with pytest.raises(RefusedError):
        await look(scene, "A")
    assert scene.prober.state("A->B") == (CanaryState.WAITING, "not allowed to create c")
    assert scene.senders[0].ended
    await look(scene, "A")
    assert [request.name for request in admin.made] == ["c"]
    admin.topics["c"] = TopicDescription("c", "two", (1,))
    await look(scene, "A")
    assert scene.prober.state("A->B") == (CanaryState.RUNNING, "")


async def test_a_topic_that_must_not_be_made_is_asked_for_with_all_its_settings(scene):
    probing_of_a = scene.prober.probings["A"]
    probing_of_a._config = CanaryConfig(topic="c", mode="precreated")
    with pytest.raises(UnavailableError) as told:
        await probing_of_a.make_topic(NewTopicRequest("c", 3, PROBES_SETTINGS))
    assert str(told.value).endswith(
        "create it with 3 partitions or more and cleanup.policy=delete, retention.ms=86400000,"
        " segment.ms=21600000"
    )
    assert probing_of_a.sentence == str(told.value)
    assert scene.prober.sites["A"].admin.made == []


async def test_a_new_target_topic_that_the_old_tap_found_is_not_read_twice(scene):
    await look(scene, "A", "B")
    tags = tick(scene) + tick(scene) + tick(scene)
    for number, tag in enumerate(tags):
        scene.senders[0].sink(Delivered(tag, number, scene.clock.now_ns))
    for number, tag in enumerate(tags[:-1]):
        copy(scene, tag, number, "B-tap-1")
    scene.prober.sites["B"].admin.topics["A.c"] = TopicDescription("A.c", "other", (1,))
    copy(scene, tags[-1], 0, "B-tap-1")  # the old tap is in the new topic already
    await look(scene, "B")
    assert scene.taps[-1].places == {("A.c", 0): 1}
    assert counters(scene).good == len(tags)
    assert counters(scene).duplicated == 0


async def test_a_new_target_topic_is_read_from_its_beginning(scene):
    await look(scene, "A", "B")
    scene.prober.sites["B"].admin.ends["A.c", 0] = 9
    scene.prober.sites["B"].admin.topics["A.c"] = TopicDescription("A.c", "other", (1,))
    await look(scene, "B")
    assert scene.taps[-1].places == {("A.c", 0): 0}


async def test_going_back_long_ago_says_nothing_about_a_new_topic(scene):
    await look(scene, "A", "B")
    tags = tick(scene) + tick(scene) + tick(scene)
    copy(scene, tags[0], 5, "B-tap-1")
    copy(scene, tags[1], 2, "B-tap-1")  # the log was cut
    await look(scene, "B")
    scene.prober.sites["B"].admin.topics["A.c"] = TopicDescription("A.c", "other", (1,))
    await look(scene, "B")
    assert scene.taps[-1].places == {("A.c", 0): 0}


async def test_what_an_older_tap_says_is_not_taken(scene):
    await look(scene, "A", "B")
    (tag, *_) = tick(scene)
    copy(scene, tag, 0, "B-tap-0")
    assert counters(scene).good == 0


async def test_a_tap_that_ended_by_itself_is_recreated(scene):
    await look(scene, "A", "B")
    fault = TapFault("B-tap-1", "", UnavailableError("broken"), lasting=True, at_ns=0)
    scene.prober._inbox.put(fault)
    scene.prober.drain()
    assert scene.said["B: reading"] == "broken"
    assert scene.prober.sites["B"].counts.errors["tap"] == 1
    await look(scene, "B")
    assert scene.taps[-1].name == "B-tap-2"
    assert not scene.taps[-1].stopped


async def test_a_producer_that_is_of_no_more_use_is_recreated(scene):
    await look(scene, "A")
    scene.senders[0].broken = True
    await look(scene, "A")
    assert len(scene.senders) == 2
    assert tick(scene)


async def test_a_topic_that_may_not_be_looked_at_hides_no_other(scene):
    site = scene.prober.sites["A"]
    site.wanted.add("hidden")
    describe = site.admin.describe_topics

    async def refusing(names):
        if names == ["hidden"]:
            raise RefusedError("hidden may not be looked at")
        return await describe(names)

    site.admin.describe_topics = refusing
    with pytest.raises(RefusedError):
        await look(scene, "A")
    assert site.refused == {"hidden": "hidden may not be looked at"}
    assert scene.prober.state("A->B") == (CanaryState.RUNNING, "")


async def test_settings_that_a_client_does_not_take_end_no_service(scene):
    site = scene.prober.sites["A"]

    async def refusing():
        raise ConfigurationError([Problem("f", "k", "no such property")])

    async def nothing():
        pass

    site.admin.open, site.admin.close = refusing, nothing
    with pytest.raises(RefusedError, match="no such property"):
        await site.run(scene.prober, SimpleNamespace())


def put(scene, topic, tap, offset, value, *, key=b"k"):
    at_ns = scene.clock.now_ns
    record = TappedRecord(tap, topic, 0, offset, offset + 1, key, value, [("h", None)], at_ns)
    scene.prober._inbox.put(record)
    scene.prober._intake.take(scene.prober._inbox.drain())


def release(scene, seconds):
    scene.clock.advance(seconds)
    scene.prober._intake.release(scene.prober._dispatch.now())


@pytest.mark.parametrize("order", [("source", "target"), ("target", "source")])
async def test_strange_records_that_the_source_holds_too_are_not_altered(scene, order):
    await look(scene, "A", "B")
    for side in order:
        place = ("c", "A-tap-1") if side == "source" else ("A.c", "B-tap-1")
        put(scene, *place, 3, b'{"mirrorwatch":1')
        assert counters(scene).corrupted == 0
    release(scene, 0.0)
    assert scene.prober._intake.foreign_records["A"].idle
    release(scene, 2.0)
    assert counters(scene).corrupted == 0


async def test_a_changed_copy_is_reported_once_its_original_had_the_time_to_show(scene):
    await look(scene, "A", "B")
    put(scene, "A.c", "B-tap-1", 4, b'{"mirrorwatch":2')
    release(scene, 0.5)
    assert counters(scene).corrupted == 0
    release(scene, 0.6)
    assert counters(scene).corrupted == 1


def put_probe(scene, tag, offset, *, value=None, topic="A.c", tap="B-tap-1"):
    incarnation = scene.prober.probings["A"]._incarnation
    probe = encode(Stamp("0" * 32, incarnation, tag.sequence, tag.topic_id, "c", 0, 0))
    at_ns, headers = scene.clock.now_ns, list(probe.headers)
    record = TappedRecord(tap, topic, 0, offset, offset + 1, probe.key, value or probe.value, headers, at_ns)
    scene.prober._inbox.put(record)
    scene.prober._intake.take(scene.prober._inbox.drain())


async def test_what_stands_behind_a_changed_copy_waits_with_it_and_proves_nothing_before(scene):
    await look(scene, "A", "B")
    tags = tick(scene, 0.0) + tick(scene) + tick(scene)
    for number, tag in enumerate(tags):
        scene.senders[0].sink(Delivered(tag, number, scene.clock.now_ns))
        put_probe(scene, tag, number, topic="c", tap="A-tap-1-lazy")
    put_probe(scene, tags[0], 0, value=b"changed")
    put_probe(scene, tags[1], 1)
    put_probe(scene, tags[2], 2)
    release(scene, 0.9)
    assert (counters(scene).corrupted, counters(scene).good, counters(scene).lost) == (0, 0, 0)
    release(scene, 0.1)
    assert (counters(scene).corrupted, counters(scene).good, counters(scene).lost) == (1, 2, 1)
    assert not scene.prober.flows["A->B"].watch.found.losses  # it is told as altered


async def test_a_changed_copy_of_a_probe_that_the_source_shows_later_is_a_foreign_records_and_lets_the_rest_go(
    scene,
):
    await look(scene, "A", "B")
    (tag, after) = tick(scene, 0.0) + tick(scene)
    put_probe(scene, tag, 0, value=b"written by a stranger")
    put_probe(scene, after, 1)
    put_probe(scene, tag, 7, value=b"written by a stranger", topic="c", tap="A-tap-1-lazy")
    release(scene, 0.1)
    assert (counters(scene).corrupted, counters(scene).good) == (0, 1)


async def test_nothing_that_waits_is_left_behind_at_the_end(scene):
    await look(scene, "A", "B")
    (tag, after) = tick(scene, 0.0) + tick(scene)
    put_probe(scene, tag, 0, value=b"changed")
    put_probe(scene, after, 1)
    await scene.prober.close()
    assert (counters(scene).corrupted, counters(scene).good) == (1, 1)
