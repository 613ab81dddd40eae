"""What a mirror does to records and on failures, from its configuration.

Only the cause of a lost record depends on it, so an invalid value is not a
problem here: it is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.mm2.filters import split_list

if TYPE_CHECKING:
    from fleet.mm2.values import Values

_KAFKA_S_OWN = "org.apache.kafka.connect.transforms."
_FILTER = f"{_KAFKA_S_OWN}Filter"  # the only one of these that drops records
_MAX_REQUEST_SIZE = 1 << 20  # the producer's default


@dataclass(frozen=True, slots=True)
class Handling:
    """Settings of a mirror; the defaults mean unknown.

    `drops` are the names of transforms that may drop a record. `skips_failed` is
    whether it skips a record that fails (errors.tolerance=all), None if unknown. Of its
    producer: the largest request before compression, and whether it compresses.
    """

    drops: tuple[str, ...] = ()
    skips_failed: bool | None = None
    max_request_bytes: int | None = None
    compresses: bool | None = None


def handling_of(connector: Values, worker: Values, *, worker_known: bool) -> Handling:
    """Return the handling from the configuration of a connector and its worker."""
    names = split_list(resolved_text(connector, "transforms", "") or "")
    tolerance = resolved_text(connector, "errors.tolerance", "none")
    size = _of_producer(connector, worker, "max.request.size", str(_MAX_REQUEST_SIZE), known=worker_known)
    compression = _of_producer(connector, worker, "compression.type", "none", known=worker_known)
    return Handling(
        tuple(name for name in names if _may_drop(resolved_text(connector, f"transforms.{name}.type", ""))),
        None if tolerance is None else tolerance.lower() == "all",
        int(size) if size is not None and size.isdecimal() else None,
        None if compression is None else compression.lower() != "none",
    )


def _may_drop(kind: str | None) -> bool:
    return not kind or kind == _FILTER or not kind.startswith(_KAFKA_S_OWN)


def _of_producer(connector: Values, worker: Values, name: str, default: str, *, known: bool) -> str | None:
    """Return a setting of the mirror's producer: a connector may override its worker's."""
    override = f"producer.override.{name}"
    if override in connector.properties:
        return resolved_text(connector, override, default)
    return resolved_text(worker, f"producer.{name}", default) if known else None


def resolved_text(values: Values, key: str, default: str) -> str | None:
    """Return a value without a problem; None if it is set but cannot be resolved."""
    text = values.properties.get(key)
    if text is None:
        return default
    return None if key in values.troubles or "${" in text else text.strip()
