"""A log event as one line of text: time, level, sentence, then key=value."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import MutableMapping

# Foreign text may hold line ends and terminal commands; a line of the log stays one line.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_PLAIN = re.compile(r"[^\s\"'=\\\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_SHAPED = ("time", "level", "sentence", "part", "exception", "stack")


def one_line(text: str) -> str:
    """Return `text` with control characters written as escapes."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def render_text(_logger: object, _method: str, event: MutableMapping[str, object]) -> str:
    """Return the line of an event; a traceback, which is a bug of ours, follows on indented lines."""
    second, _, fraction = str(event.get("time", "")).removesuffix("Z").partition(".")
    time = f"{second}.{fraction[:3]:0<3}"  # a whole second comes without a fraction
    level = str(event.get("level", "info")).upper()
    pieces = [f"{time}Z {level:<8} {one_line(str(event.get('sentence', '')))}"]
    pieces += [f"{one_line(str(key))}={_value(event[key])}" for key in event if key not in _SHAPED]
    if "part" in event:
        pieces.append(f"[{one_line(str(event['part']))}]")
    line = "  ".join(pieces)
    for key in ("exception", "stack"):
        if event.get(key):
            below = str(event[key]).splitlines()
            line += "".join(f"\n    {one_line(each)}" for each in below)
    return line


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if not isinstance(value, str) or _PLAIN.fullmatch(text):
        return one_line(text)
    return one_line(json.dumps(text, ensure_ascii=False))
