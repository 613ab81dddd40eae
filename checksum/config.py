"""The section `checksum` of the configuration."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from fleet.mm2.filters import PatternList
from fleet.quantity import bytes_text
from runtime.config.values import Count, Duration, Rate, Reload, Section, Size, declared

_LEAST_BYTES_S = 1000


def _pattern(text: str) -> str:
    if not PatternList(text).entries:
        raise ValueError("empty pattern; write a topic name or a Java regular expression")
    return text


def _client_id(text: str) -> str:
    # Quotas refer to it by name, and brokers use it in the names of their metrics.
    if not re.fullmatch(r"[a-zA-Z0-9._-]{1,200}", text):
        raise ValueError(f"invalid client id '{text[:60]}'; use up to 200 letters, digits, '.', '_' and '-'")
    return text


def _header(name: str) -> str:
    # Plan files accept only printable text, because it is shown in messages.
    if not name.isprintable():
        raise ValueError("contains an unprintable character; such a header cannot be excluded")
    return name


def _enough(bytes_s: int) -> int:
    if bytes_s < _LEAST_BYTES_S:
        raise ValueError(f"must be at least {bytes_text(_LEAST_BYTES_S)}/s; slower runs never end")
    return bytes_s


MaxRate = Annotated[Rate, AfterValidator(_enough)]
Topics = Annotated[str, AfterValidator(_pattern)]
ClientId = Annotated[str, AfterValidator(_client_id)]
HeaderName = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_header)]


class ChecksumConfig(Section):
    """What is compared, and at what cost; durations in seconds, sizes in bytes, rates in bytes per second.

    Sizes and rates are per side. `cells` is the number of sums for each partition and time `bucket`: more
    cells identify more records without reading them again.
    """

    topics: list[Topics] = Field(
        default_factory=list,
        max_length=10_000,
        description=(
            "topics that are compared if the command line names none: Java regular expressions for "
            "whole names"
        ),
        json_schema_extra=declared(Reload.NEXT_RUN),
    )
    max_bytes: Size = Field(
        default=10**12,
        gt=0,
        description="a plan that would read more than this from either cluster is refused",
        json_schema_extra=declared(Reload.NEXT_RUN),
    )
    max_rate: MaxRate | None = Field(
        default=None,
        description="most bytes per second that are read from each cluster, at least `1kB/s`",
        json_schema_extra=declared(Reload.NEXT_RUN),
    )
    exclude_headers: list[HeaderName] = Field(
        default_factory=list,
        max_length=1000,
        description="headers that the mirror adds by design: not compared, and ignored on canary records",
        json_schema_extra=declared(Reload.NEXT_RUN),
    )
    bucket: Duration = Field(
        default=900.0,
        ge=1,
        le=86400,
        description="length of the time buckets in which records are counted and summed",
        json_schema_extra=declared(Reload.NEXT_RUN),
    )
    cells: Count = Field(
        default=16,
        ge=1,
        le=65_536,
        description=(
            "sums per partition and bucket; more of them name more single differences without a second read"
        ),
        json_schema_extra=declared(Reload.NEXT_RUN),
    )
    client_id: ClientId = Field(
        default="mirrorwatch-checksum",
        description="client id of everything that the checksum reads with, for broker quotas",
        json_schema_extra=declared(Reload.NEXT_RUN),
    )
