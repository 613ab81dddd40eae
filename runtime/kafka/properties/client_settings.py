"""The settings of a Kafka client, ready to be used. Who gets them so needs none of what reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runtime.kafka.properties.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What a librdkafka client of one cluster is made with, and what the user should know about it.

    `librdkafka` holds passwords and private keys: its repr hides them, `redacted` prints the rest.
    `certificate_expires_at` is when the client's certificate or one of its issuers expires, epoch seconds.
    """

    librdkafka: Mapping[str, str] = field(repr=False)
    notes: tuple[str, ...] = ()
    certificate_expires_at: float | None = None

    def __repr__(self) -> str:
        return f"ClientSettings(librdkafka={redacted(self.librdkafka)!r}, notes={self.notes!r})"
