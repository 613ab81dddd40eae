"""All operations of the API: what is not in this table is not served."""

from __future__ import annotations

from mirrorwatch.api import counts, flows

OPERATIONS = (*flows.OPERATIONS, *counts.OPERATIONS)
