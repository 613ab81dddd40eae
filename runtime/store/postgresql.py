"""Say in sentences what PostgreSQL and its client say.

By SQLSTATE (PostgreSQL's documentation, appendix A), of which the first two characters are a class. Where no
connection came about there is none, only the client's text.
"""

from __future__ import annotations

import re
from typing import Final

_BY_STATE: Final = {
    "25P03": "heard nothing from us for too long: the operation was undone",
    "28": "refuses the user or the password: see both in store.url",
    "3D000": "is not there, the server has no database of this name: make it, or name another in store.url",
    "42501": "does not let this user do that: make it the database's owner, or grant it all on its schema",
    "53100": "cannot grow, the disk is full: make room, then it goes on by itself",
    "53300": "takes no more connections: end others, or raise max_connections",
    "25006": "takes no writes, it is a standby or set to read only: name the primary in store.url",
    "57014": "did not answer in time: the operation was undone",
    "55P03": "is held by another process: wait, or see which other program has it open",
    "57P01": "ended the connection, by an administrator's order: it is opened anew",
    "57P05": "ended the connection, which was idle for too long: it is opened anew",
    "57P": "is stopping or starting: it goes on by itself once it is up",
    "08": "cannot be reached: see whether it runs",
    "XX001": "is damaged: see the server's log, and restore a copy",
    "XX002": "is damaged: see the server's log, and restore a copy",
    "hba": "lets nobody in from here in this way: see pg_hba.conf of the server, or sslmode in store.url",
    "option": "does not know what stands behind '?' in store.url",
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
    """Return what a driver's error means, None for one that is a bug of ours."""
    state = getattr(error, "sqlstate", None) or ""
    if not state:
        state = next((found for pattern, found in _BY_TEXT.items() if re.search(pattern, str(error))), "")
    for length in (len(state), 3, 2):
        if state[:length] in _BY_STATE:
            return _BY_STATE[state[:length]]
    return None
