"""What Kafka takes as a topic's name (org.apache.kafka.common.internals.Topic)."""

from __future__ import annotations

import re

LONGEST_TOPIC = 249
_NAME = re.compile(f"[a-zA-Z0-9._-]{{1,{LONGEST_TOPIC}}}")


def is_topic_name(text: str) -> bool:
    """Tell whether a topic can be called so."""
    return _NAME.fullmatch(text) is not None
