"""The address of a Connect worker as a person writes it."""

from __future__ import annotations

from urllib.parse import urlsplit


def rest_address(text: str) -> str:
    """Return the address without what stands behind the host and path; ValueError with a sentence for others.

    A path stays, for a proxy may have one; `/connectors`, as it is copied from a command, does not.
    """
    if "@" in text:  # first of all, for what stands before it may be a password with any letter in it
        raise ValueError("must not contain a user; set connect.username and connect.password")
    try:
        parts = urlsplit(text.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(letter.isspace() for letter in text.strip()):
        raise ValueError(f"invalid address '{text[:200]}'; write it as http://connect:8083")
    if parts.query or parts.fragment:
        raise ValueError(
            "must not contain a query; write only the worker's address, such as http://connect:8083"
        )
    return text.strip().rstrip("/").removesuffix("/connectors").rstrip("/")
