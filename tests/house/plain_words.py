"""Phrases that no text of Mirrorwatch may have, and what to write instead. For docs and for user-visible strings.

Each pattern is matched against text in lower case. The list follows the style guide for texts: field terms instead
of coined words, a named actor instead of "we" or "nobody", plain verbs.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Phrase(NamedTuple):
    """A forbidden phrase as a pattern, and its replacement."""

    pattern: re.Pattern[str]
    instead: str


def _phrase(pattern: str, instead: str) -> Phrase:
    return Phrase(re.compile(rf"\b(?:{pattern})\b"), instead)


PHRASES = (
    _phrase("told|tells?|untold", "report, show, log, return"),
    _phrase("stands?|stood|standstill", "hang, stall, idle; is stored in"),
    _phrase("anew|remade", "re-created, restarted, again"),
    _phrase("(?:a|one|each|every|first|last|next|second|two|both|these) looks?", "poll, check, sample"),
    _phrase("looked at|looks at", "read, checked"),
    _phrase("the rights?|rights? to|right to", "permission, ACL"),
    _phrase("what came|what comes", "replicated record, target topic"),
    _phrase("carries|carried", "replicates; is assigned to"),
    _phrase("books", "counters"),
    _phrase("beside", "also, alongside"),
    _phrase("mend(?:s|ed|ing)?", "fix, restore"),
    _phrase("laid over|lays over", "overrides"),
    _phrase("fine|not fine", "OK, FAILED"),
    _phrase("strangers?", "foreign records"),
    _phrase("needs? a person|a person|somebody|nobody", "name the actor, such as the user or MirrorMaker"),
    _phrase("ends? of the logs?|log.s ends?", "log end offset"),
    _phrase("goes on|went on|go on", "continues"),
    _phrase("falls? away|gone with", "removed, not needed"),
    _phrase("heritage|farewell", "inherited state, removal"),
    _phrase("we|our|ours|us", "Mirrorwatch, MirrorMaker, the broker, the task, you"),
)


def found_in(text: str) -> list[str]:
    """Return the forbidden phrases in a text, each with its replacement."""
    lower = text.lower()
    return [
        f"'{match[0]}' ({phrase.instead})" for phrase in PHRASES if (match := phrase.pattern.search(lower))
    ]
