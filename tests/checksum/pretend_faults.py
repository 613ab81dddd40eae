"""Pretend mirrors that lose, repeat, change, swap and misroute records, drawn by Hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from hypothesis import strategies as st

from checksum.digest.record_hash import Content
from tests.checksum.pretend_logs import Held, Partition

FAULTS = (
    "drop",
    "repeat",
    "repeat later",
    "value",
    "key",
    "header",
    "time",
    "swap",
    "move",
    "misroute",
    "by hand",
)


class Copy(NamedTuple):
    """A record on its way to the target, and which source record it was: (topic, partition, index)."""

    content: Content
    origin: tuple[str, int, int] | None
    changed: bool = False


@dataclass
class Mirrored:
    """Both sides of some topics, and where each record of the target came from."""

    topics: dict[str, list[Partition]]
    copies: dict[tuple[str, int], list[Copy]]

    def copy_at(self, topic: str, partition: int, offset: int) -> Copy:
        log = self.topics[topic][partition].target
        (index,) = [index for index, held in enumerate(log) if held.offset == offset]
        return self.copies[topic, partition][index]


def contents(*, alike: bool) -> st.SearchStrategy[Content]:
    """Records; `alike` makes many of them equal in part or as a whole."""
    some = st.sampled_from([None, b"", b"a", b"b"]) if alike else st.binary(min_size=8, max_size=8)
    times = st.integers(0, 30) if alike else st.integers(-1, 200)
    headers = st.sampled_from([None, [], [("h", None)], [("h", b"x"), ("h", b"")]])
    return st.builds(Content, some, some, times, headers)


@st.composite
def mirrors(
    draw: st.DrawFn, *, faults: tuple[str, ...] = FAULTS, most_faults: int = 3, alike: bool | None = None
) -> Mirrored:
    distinct = alike is False
    alike = draw(st.booleans()) if alike is None else alike
    shape = {"t": draw(st.integers(1, 2)), "u": 1}
    sources = {
        (topic, number): draw(st.lists(contents(alike=alike), max_size=20))
        for topic, count in shape.items()
        for number in range(count)
    }
    if distinct:
        sources = {
            where: [
                content._replace(key=f"{where} {index}".encode(), value=f"{index} {where}".encode())
                for index, content in enumerate(log)
            ]
            for where, log in sources.items()
        }
    copies = {
        where: [Copy(content, (*where, index)) for index, content in enumerate(log)]
        for where, log in sources.items()
    }
    for _ in range(draw(st.integers(0, most_faults))):
        where = draw(st.sampled_from(sorted(copies)))
        inject(draw, draw(st.sampled_from(faults)), copies, where, alike=alike)
    topics = {topic: [Partition() for _ in range(count)] for topic, count in shape.items()}
    for (topic, number), log in copies.items():
        partition = topics[topic][number]
        partition.source = spread(draw, sources[topic, number])
        partition.target = spread(draw, [copy.content for copy in log])
        partition.anchors = anchors(draw, partition, log, (topic, number))
    return Mirrored(topics, copies)


def inject(
    draw: st.DrawFn,
    fault: str,
    copies: dict[tuple[str, int], list[Copy]],
    where: tuple[str, int],
    *,
    alike: bool,
) -> None:
    log = copies[where]
    if fault == "by hand":
        log.insert(draw(st.integers(0, len(log))), Copy(draw(contents(alike=alike)), None))
        return
    if not log:
        return
    at = draw(st.integers(0, len(log) - 1))
    one = log[at]
    match fault:
        case "drop":
            del log[at]
        case "repeat":
            log.insert(at + 1, one)
        case "repeat later":
            log.insert(draw(st.integers(at + 1, len(log))), one)
        case "swap" if at + 1 < len(log):
            log[at], log[at + 1] = log[at + 1], log[at]
        case "move":
            log.insert(draw(st.integers(0, len(log) - 1)), log.pop(at))
        case "misroute":
            other = copies[draw(st.sampled_from(sorted(copies)))]
            moved = log.pop(at)
            other.insert(draw(st.integers(0, len(other))), moved)
        case "value" | "key" | "header" | "time" if not one.changed:
            log[at] = one._replace(content=changed(draw, fault, one.content), changed=True)


def changed(draw: st.DrawFn, part: str, content: Content) -> Content:
    match part:
        case "value":
            return content._replace(value=b"other")
        case "key":
            return content._replace(key=b"other")
        case "header":
            return content._replace(headers=[("new", b"")])
        case _:
            return content._replace(timestamp_ms=content.timestamp_ms + draw(st.sampled_from([1, 1000])))


def spread(draw: st.DrawFn, log: list[Content]) -> list[Held]:
    """Give records offsets: mostly one after the other, here and there with a gap, as markers leave one."""
    offset = draw(st.integers(0, 3))
    gaps = draw(st.booleans())
    held = []
    for content in log:
        held.append(Held(offset, content))
        offset += 1 + (draw(st.integers(0, 9)) == 0 if gaps else 0)
    return held


def anchors(
    draw: st.DrawFn, partition: Partition, log: list[Copy], where: tuple[str, int]
) -> list[tuple[int, int]]:
    """Return true pairs of offsets, rising on both sides, some of all that there are."""
    found: list[tuple[int, int]] = []
    for held, copy in zip(partition.target, log, strict=True):
        if copy.origin is None or copy.origin[:2] != where or copy.changed:
            continue
        source = partition.source[copy.origin[2]].offset
        if (not found or source > found[-1][0]) and draw(st.integers(0, 2)) == 0:
            found.append((source, held.offset))
    return found
