"""The address of a Connect worker as a person writes it."""

from __future__ import annotations

from urllib.parse import urlsplit


def rest_address(text: str) -> str:
    """Return the address without what stands behind the host and path; ValueError with a sentence for others.

    A path stays, for a proxy may have one; `/connectors`, as it is copied from a command, does not.
    """
    if "@" in text:  # first of all, for what stands before it may be a password with any letter in it
        raise ValueError("has a user in it: write username and password as keys of their own")
    try:
        parts = urlsplit(text.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(letter.isspace() for letter in text.strip()):
        raise ValueError(f"'{text[:200]}' is no address: write it as http://connect:8083")
    if parts.query or parts.fragment:
        raise ValueError("has a query in it: write the address of the worker alone, as http://connect:8083")
    return text.strip().rstrip("/").removesuffix("/connectors").rstrip("/")
