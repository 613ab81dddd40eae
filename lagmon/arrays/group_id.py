"""A short id of a group's name. Pure, without NumPy: the service imports it too."""

from __future__ import annotations

import hashlib


def group_id(name: str) -> str:
    """Return the id of a group by its name: 32 hexadecimal digits."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
