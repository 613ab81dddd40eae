"""The paths of Burrow's HTTP API v3, and answers without a group. Pure.

Separate from `burrow/api.py`, which needs NumPy: the service serves these paths and forwards requests.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

Answer = tuple[int, dict[str, Any]]
"""HTTP status, and the document to send as JSON."""


def is_served(path: str) -> bool:
    """Return whether a route for GET matches this path, whether or not its cluster or group exists."""
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
    """Return the answer for a path without a route."""
    return HTTPStatus.NOT_FOUND, {"error": True, "message": "invalid request type", "result": {}}


def error_document(message: str, request: dict[str, str]) -> dict[str, Any]:
    """Return an error; `request` is the requested path and the name of this machine."""
    return {"error": True, "message": message, "request": request}
