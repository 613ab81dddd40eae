"""What a fault is: a sentence, how it begins and how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from deploy.local.stage import Stage

CANARY_TOPIC = "mirrorwatch-canary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong. `begin` and `end` take the stack and a topic's name on the source."""

    name: str
    sentence: str
    begin: Callable[[Stage, str], None]
    end: Callable[[Stage, str], None]
    topic: str = CANARY_TOPIC
