"""Sentences for the errors of PostgreSQL and its client.

By SQLSTATE (PostgreSQL's documentation, appendix A), whose first two characters are a class. Without a
connection there is no SQLSTATE, only the client's text.
"""

from __future__ import annotations

import re
from typing import Final

_BY_STATE: Final = {
    "25P03": "received nothing for too long: the operation was rolled back",
    "28": "refuses the user or the password: see both in store.url",
    "3D000": "does not exist on the server; create the database, or name another in store.url",
    "42501": "denies this to the user: make it the owner of the database, or grant it all on its schema",
    "53100": "cannot grow, the disk is full: free space, then it continues by itself",
    "53300": "accepts no more connections: close others, or raise max_connections",
    "25006": "accepts no writes, it is a standby or read-only: name the primary in store.url",
    "57014": "did not answer in time: the operation was rolled back",
    "55P03": "is locked by another process: wait, or find the program that has it open",
    "57P01": "had the connection ended by an administrator: reconnecting",
    "57P05": "ended the connection, which was idle for too long: reconnecting",
    "57P": "is stopping or starting: it continues by itself once it is up",
    "08": "cannot be reached: check whether it runs",
    "XX001": "is damaged: see the server's log, and restore a copy",
    "XX002": "is damaged: see the server's log, and restore a copy",
    "hba": "rejects connections from here: check pg_hba.conf of the server, or sslmode in store.url",
    "option": "rejects an option after '?' in store.url",
}
_BY_TEXT: Final = {
    "no pg_hba.conf entry": "hba",
    "invalid connection option|invalid URI query parameter": "option",
    "password authentication failed|no password supplied|role .* (?:does not exist|is not permitted)": "28",
    "database .* does not exist": "3D000",
    "too many clients|too many connections|remaining connection slots": "53300",
    "the database system is (?:starting up|shutting down|in recovery)|not yet accepting connections": "57P",
}


def sentence_of(error: BaseException | None) -> str | None:
    """Return the sentence for a driver's error, None for a bug."""
    state = getattr(error, "sqlstate", None) or ""
    if not state:
        state = next((found for pattern, found in _BY_TEXT.items() if re.search(pattern, str(error))), "")
    for length in (len(state), 3, 2):
        if state[:length] in _BY_STATE:
            return _BY_STATE[state[:length]]
    return None
