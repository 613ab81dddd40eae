"""Hide secrets in printed properties."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

HIDDEN: Final = "[hidden]"

# By shape rather than by list, so that a key nobody has foreseen is hidden as well.
_SECRET_KEY: Final = re.compile(
    r"passw(?:or)?d|passphrase|secret|jaas|credential|token$|\.pem$|(?:^|[._])key$|keystore\.certificate|"
    r"oauthbearer\.(?:config|extensions)",
    re.IGNORECASE,
)
_USER_INFO: Final = re.compile(r"(?<=://)[^/?#\s@]*@")
_HARMLESS: Final = frozenset(
    {"ssl.ca.pem", "https.ca.pem", "ssl.certificate.pem", "ssl.keystore.certificate.chain"}
)


def is_secret(key: str) -> bool:
    """Return whether the value of a client property may be a secret, with any prefix."""
    if any(key == name or key.endswith("." + name) for name in _HARMLESS):
        return False
    return _SECRET_KEY.search(key) is not None and not key.endswith("client.id")


def redacted(properties: Mapping[str, object]) -> dict[str, str]:
    """Return the properties as text for printing: secrets hidden, certificates shortened."""
    shown = {}
    for key, value in properties.items():
        text = str(value)
        if is_secret(key) or "PRIVATE KEY-----" in text:
            shown[key] = HIDDEN
        elif "-----BEGIN CERTIFICATE-----" in text:
            shown[key] = f"[{text.count('-----BEGIN CERTIFICATE-----')} certificates]"
        else:
            shown[key] = _USER_INFO.sub(HIDDEN + "@", text)
    return shown
