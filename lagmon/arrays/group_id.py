"""What stands for a group's name where there is no room for it. Pure, and light: the service has it too."""

from __future__ import annotations

import hashlib


def group_id(name: str) -> str:
    """Return the id of a group by its name: 32 hexadecimal digits."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
