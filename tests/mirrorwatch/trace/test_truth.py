"""A mirror that drops, changes and repeats records, and a target that deletes: no verdict contradicts that."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from lagmon.mirrors.answers.orders import order_of
from mirrorwatch.trace.choosing import Wanted, choose_record
from mirrorwatch.trace.facts import Status
from mirrorwatch.trace.following import follow
from tests.mirrorwatch.trace.logs import FakeClusters, record
from tests.mirrorwatch.trace.test_trace import FLOW, NOW_MS, Stage, committed, syncs

CHANGES = ({"key": b"another"}, {"value": b"another"}, {"headers": [("h", b"1")]}, {"timestamp_ms": 5})


@dataclass
class Story:
    """A stage, and where each source record was written on the target; the last place is the last time."""

    stage: Stage
    places: dict[int, list[int]] = field(default_factory=dict)
    changed: set[int] = field(default_factory=set)


@st.composite
def stories(draw):
    count = draw(st.integers(5, 60))
    stage = Stage(count)
    if draw(st.booleans()):  # records that are hard to distinguish
        for offset in range(count):
            same = record(
                offset, key=b"sensor", value=b"%d" % (offset % 3), at_ms=1_790_000_000_000 + offset // 4
            )
            stage.here.records[offset] = same._replace(offset=offset)
    offsets = st.sets(st.integers(0, count - 1), max_size=6)
    dropped, changed = draw(offsets), draw(offsets)
    kind = draw(st.sampled_from(CHANGES))
    upto, every = draw(st.integers(1, count)), draw(st.integers(0, 12))
    restart_at, back = draw(st.integers(0, upto)), draw(st.integers(0, 8))
    story = Story(stage)
    pairs, last = [], None
    for offset in [*range(restart_at), *range(max(0, restart_at - back), upto)]:
        if offset in dropped:
            continue
        one = stage.here.records[offset]
        if offset in changed:
            one = one._replace(**kind)
            story.changed.add(offset)
        there = stage.there.append(one)
        story.places.setdefault(offset, []).append(there)
        if last is None or offset != last + 1 or there - pairs[-1][1] > every:
            pairs.append((offset, there))
        last = offset
    keep = draw(st.sampled_from(["all", "newest", "none"]))
    kept = {"all": pairs, "newest": pairs[-1:], "none": []}[keep]
    stage.a.records["mm2-offset-syncs.B.internal"] = syncs("orders", 0, kept)
    progress = draw(st.integers(0, upto - 1))
    stage.b.records["mm2-offsets.A.internal"] = committed("orders", 0, progress)
    if draw(st.booleans()):
        stage.there.start = draw(st.integers(0, stage.there.end))
    return story


@given(stories(), st.data())
def test_no_verdict_contradicts_the_truth(story, data):
    stage = story.stage
    offset = data.draw(st.integers(0, stage.here.end - 1))
    clusters = FakeClusters(stage.a, stage.b)
    chosen = choose_record(Wanted(topic="orders", partition=0, offset=offset), clusters["A"])
    (one,) = follow(chosen, [order_of(FLOW)], clusters, lambda *_: {}, now_ms=NOW_MS).hops
    places = story.places.get(offset, [])
    mine = stage.here.records[offset]
    equal = [at for at, each in stage.there.records.items() if each._replace(offset=offset) == mine]
    readable = [at for at in equal if at >= stage.there.start]
    match one.status:
        case Status.FOUND:
            assert {*one.offsets} <= {*readable}
            if places and places[-1] in readable:
                assert places[-1] in one.offsets
        case Status.CHANGED:
            assert one.offsets[0] >= stage.there.start
            assert offset in story.changed, one.sentence
            assert one.offsets[0] in places
        case Status.DROPPED:
            assert places == [], one.sentence
        case Status.NOT_YET:
            assert not readable
        case Status.DELETED:
            assert not readable
            assert stage.there.start > 0
        case other:
            assert other is Status.UNKNOWN
    if places and places[-1] in readable:
        assert one.status is Status.FOUND
