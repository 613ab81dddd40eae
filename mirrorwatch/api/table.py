"""All operations of the API and the schemas of their documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mirrorwatch.api import about, checksums, counts, failover, flows, groups, incidents, offsets, operator

if TYPE_CHECKING:
    from mirrorwatch.api.operations import Operation
    from mirrorwatch.api.shapes import Schema

_PARTS = (about, flows, offsets, counts, operator, groups, failover, checksums, incidents)

OPERATIONS: tuple[Operation, ...] = tuple(one for part in _PARTS for one in part.OPERATIONS)
SCHEMAS: dict[str, Schema] = {name: schema for part in _PARTS for name, schema in part.SCHEMAS.items()}
