"""Sentences about a mirror's groups: none exists, or several commit to one partition. Pure."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from fleet.mm2.filters import split_list
from lagmon.mirrors.sentences import names, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lagmon.mirrors.answers.orders import MirrorOrder

MOST_SEARCHED = 2_000
_CLOSE = 3
# The parts of a regular expression that do not match themselves.
_NO_LITERAL = re.compile(r"\\.|[\[(].*?[\])]|[^\w.-]|\.[*+?]")


def none_ever(order: MirrorOrder) -> str:
    """Return that the source has no commits at all."""
    return f"No group has ever committed on {order.flow.source}: the mirror has replicated nothing yet."


def none_matches(order: MirrorOrder, close: Sequence[str]) -> str:
    """Return that no group matches, and similar names."""
    like = f" Close to it: {', '.join(short(one) for one in close)}." if close else ""
    return (
        f"No group on {order.flow.source} with an offset matches {order.group}: the mirror has replicated "
        f"nothing yet, or its group has another name (flows.{order.name}.group).{like}"
    )


def none_of_topics(order: MirrorOrder, found: Iterable[str]) -> str:
    """Return that groups match, but none has an offset on a topic of the flow."""
    who = names(tuple(sorted(set(found))), "The group", "The groups")
    return (
        f"{who} on {order.flow.source}, by the pattern {order.group}: no offset on a topic of {order.name}. "
        f"The mirror has replicated nothing yet, or its group is another (flows.{order.name}.group)."
    )


def shared(order: MirrorOrder, where: str, found: Iterable[str], counted: str) -> str:
    """Return that several groups commit to one partition."""
    several = tuple(sorted(found))
    who = names(several, "", f"{len(several)} groups that match,")
    return (
        f"{where} has offsets of {who}; {short(counted)} is counted. Where not all of them are this "
        f"mirror's, narrow flows.{order.name}.group."
    )


def close_to(pattern: str, there: Sequence[str]) -> tuple[str, ...]:
    """Return the names that are most similar to the literal part of a list of patterns."""
    found: list[str] = []
    for entry in split_list(pattern):
        literal = _NO_LITERAL.sub("", entry)
        if literal:
            wanted = literal.casefold()
            found += [name for name in there if wanted in name.casefold()] or _alike(literal, there)
    return tuple(dict.fromkeys(found))[:_CLOSE]


def _alike(literal: str, there: Sequence[str]) -> list[str]:
    """Return names that are similar to a text, as a whole or by their first characters."""
    heads: dict[str, list[str]] = {}
    for name in there[:MOST_SEARCHED]:
        for part in dict.fromkeys((name[: len(literal)], name)):
            heads.setdefault(part, []).append(name)
    near = difflib.get_close_matches(literal, heads, n=_CLOSE, cutoff=0.6)
    return [name for part in near for name in heads[part][:_CLOSE]]
