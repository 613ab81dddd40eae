"""The section `checksum` of the configuration."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from fleet.mm2.filters import PatternList
from fleet.quantity import bytes_text
from runtime.config.values import Count, Duration, Rate, Section, Size

_LEAST_BYTES_S = 1000


def _pattern(text: str) -> str:
    if not PatternList(text).entries:
        raise ValueError("names no topic: write a topic's name or a Java regular expression")
    return text


def _client_id(text: str) -> str:
    # A quota is set on it by name, and brokers make it part of the names of their metrics.
    if not re.fullmatch(r"[a-zA-Z0-9._-]{1,200}", text):
        raise ValueError(f"'{text[:60]}' is no client id: use up to 200 letters, digits, '.', '_' and '-'")
    return text


def _header(name: str) -> str:
    # It stands in the plan's file, which takes no other, since sentences are made of what it holds.
    if not name.isprintable():
        raise ValueError(
            "holds a character that cannot be printed: a header of such a name cannot be left out"
        )
    return name


def _enough(bytes_s: int) -> int:
    if bytes_s < _LEAST_BYTES_S:
        raise ValueError(
            f"has to be at least {bytes_text(_LEAST_BYTES_S)}/s: at less, no run comes to its end"
        )
    return bytes_s


MaxRate = Annotated[Rate, AfterValidator(_enough)]
Topics = Annotated[str, AfterValidator(_pattern)]
ClientId = Annotated[str, AfterValidator(_client_id)]
HeaderName = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_header)]


class ChecksumConfig(Section):
    """What is compared, and at what cost; durations in seconds, sizes in bytes, rates in bytes a second.

    Sizes and rates are of each side. `cells` is into how many sums the records of a partition and a `bucket`
    of time are dealt: more of them name more single differences without reading again.
    """

    topics: list[Topics] = Field(default_factory=list, max_length=10_000)
    max_bytes: Size = Field(default=10**12, gt=0)
    max_rate: MaxRate | None = None
    exclude_headers: list[HeaderName] = Field(default_factory=list, max_length=1000)
    bucket: Duration = Field(default=900.0, ge=1, le=86400)
    cells: Count = Field(default=16, ge=1, le=65_536)
    client_id: ClientId = "mirrorwatch-checksum"
