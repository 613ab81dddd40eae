"""Groups that commit no offsets: their kinds, counts and sentences. Pure.

A classic group has a protocol type of its members' choice: "consumer" for consumers, "connect" for Connect
workers (those of MirrorMaker too), "sr" for Schema Registry. Share groups (KIP-932) keep their state in
`__share_group_state`. A group without a protocol type never had a member, so it has only committed. Consumer
groups with members that have not committed yet are counted too (groups/silences.py).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OTHER = "other"
CONSUMER = "consumer"  # one that may commit, and has not
_COMMITTING = frozenset({"", "classic", "consumer", "streams"})
_KINDS = {"connect": "connect", "sr": "schema_registry", "share": "share"}
_WORDS = {
    "connect": ("group of Kafka Connect", "groups of Kafka Connect"),
    "schema_registry": ("group of Schema Registry", "groups of Schema Registry"),
    "share": ("share group", "share groups"),
    OTHER: ("group of another kind", "groups of other kinds"),
    CONSUMER: ("consumer group with members", "consumer groups with members"),
}


def kind_of(protocol_type: str) -> str:
    """Return the kind of a group by its protocol type or Kafka's group type; "" if it may commit."""
    return "" if protocol_type in _COMMITTING else _KINDS.get(protocol_type, OTHER)


def count_kinds(kinds: Mapping[str, str], commits: Callable[[str], bool]) -> dict[str, int]:
    """Return by kind how many groups commit no offsets; groups of a kind that commit are left out.

    `kinds` are by group, as `kind_of` returns them.
    """
    counts = Counter(kind for group, kind in kinds.items() if not commits(group))
    return {kind: counts[kind] for kind in _WORDS if counts[kind]}


def counts_sentence(counts: Mapping[str, int]) -> str:
    """Return how many groups commit no offsets, as a sentence; "" if there are none."""
    others = {kind: count for kind, count in counts.items() if count > 0 and kind != CONSUMER}
    said = [f"{count:,} {_word(kind, count)}" for kind, count in others.items()]
    sentences = []
    if said:
        who = " and ".join(filter(None, (", ".join(said[:-1]), said[-1])))
        sentences.append(f"{who} {'commits' if sum(others.values()) == 1 else 'commit'} no offsets here.")
    silent = counts.get(CONSUMER, 0)
    if silent > 0:
        has = "has" if silent == 1 else "have"
        sentences.append(f"{silent:,} {_word(CONSUMER, silent)} {has} committed nothing here.")
    return " ".join(sentences)


def one_sentence(kind: str) -> str:
    """Return why a group of a kind has no offsets."""
    why = "it has not committed yet" if kind == CONSUMER else "it commits no offsets"
    return f"The group exists as a {_word(kind, 1)}: {why}."


def _word(kind: str, count: int) -> str:
    one, several = _WORDS.get(kind, _WORDS[OTHER])
    return one if count == 1 else several
