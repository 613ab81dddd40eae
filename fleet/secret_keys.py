"""Which client properties may hold secrets."""

from __future__ import annotations

import re
from typing import Final

# By shape rather than by list, so that an unforeseen key is hidden as well.
_SECRET_KEY: Final = re.compile(
    r"passw(?:or)?d|passphrase|secret|jaas|credential|token$|\.pem$|(?:^|[._])key$|keystore\.certificate|"
    r"oauthbearer\.(?:config|extensions)",
    re.IGNORECASE,
)
_HARMLESS: Final = frozenset(
    {"ssl.ca.pem", "https.ca.pem", "ssl.certificate.pem", "ssl.keystore.certificate.chain"}
)


def is_secret(key: str) -> bool:
    """Return whether the value of a client property may be a secret, with any prefix."""
    if any(key == name or key.endswith("." + name) for name in _HARMLESS):
        return False
    return _SECRET_KEY.search(key) is not None and not key.endswith("client.id")
