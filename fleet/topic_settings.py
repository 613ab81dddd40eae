"""The settings of a topic as its cluster shows them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Origin(StrEnum):
    """What a setting comes from."""

    TOPIC = "topic"  # set on the topic itself
    BROKER = "broker"  # dynamic configuration of a broker or of all
    STATIC = "static"  # server.properties
    DEFAULT = "default"  # Kafka's default


class Setting(NamedTuple):
    """A value and what it comes from."""

    value: str
    origin: Origin


Settings = Mapping[str, Setting]  # by property
