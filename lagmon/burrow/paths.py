"""Which paths Burrow's HTTP API v3 has, and its answers that tell of no group. Pure.

Apart from `burrow/api.py`, which judges groups with NumPy: the service serves these paths, and only passes
on what is asked.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

Answer = tuple[int, dict[str, Any]]
"""HTTP status, and the document to send as JSON."""


def is_served(path: str) -> bool:
    """Return whether there is anything at this path for GET, whatever clusters, groups and topics there are."""
    match [unquote(part) for part in path.rstrip("/").split("/")]:
        case ["", "v3", "kafka"] | ["", "v3", "kafka", _]:
            return True
        case ["", "v3", "kafka", _, "topic" | "consumer"] | ["", "v3", "kafka", _, "topic" | "consumer", _]:
            return True
        case ["", "v3", "kafka", _, "topic", _, "consumers"]:
            return True
        case ["", "v3", "kafka", _, "consumer", _, "status" | "lag"]:
            return True
    return False


def not_served() -> Answer:
    """Answer what no route is for."""
    return HTTPStatus.NOT_FOUND, {"error": True, "message": "invalid request type", "result": {}}


def error_document(message: str, request: dict[str, str]) -> dict[str, Any]:
    """Return why there is no answer; `request` is the path that was asked for, and this machine's name."""
    return {"error": True, "message": message, "request": request}
