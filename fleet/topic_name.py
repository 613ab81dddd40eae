"""Valid topic names (org.apache.kafka.common.internals.Topic)."""

from __future__ import annotations

import re

LONGEST_TOPIC = 249
_NAME = re.compile(f"[a-zA-Z0-9._-]{{1,{LONGEST_TOPIC}}}")


def is_topic_name(text: str) -> bool:
    """Return whether this is a valid topic name."""
    return _NAME.fullmatch(text) is not None
