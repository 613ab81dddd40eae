"""The address of a Connect worker as an operator writes it."""

from __future__ import annotations

from urllib.parse import urlsplit


def rest_address(text: str) -> str:
    """Return the address in its short form; raises ValueError with a sentence for an invalid one.

    A path is kept, because a proxy may have one; `/connectors` at its end is removed.
    """
    if "@" in text:  # first, because the text before it may be a password with any letter
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
