"""Turn Java's names of cipher suites (IANA's) into OpenSSL's.

OpenSSL names a suite of TLS 1.2 by its parts: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is
ECDHE-RSA-AES128-GCM-SHA256. The tests compare the rule with what OpenSSL itself prints.
"""

from __future__ import annotations

import re

_SUITE = re.compile(
    r"(?:TLS|SSL)_(ECDHE_RSA|ECDHE_ECDSA|DHE_RSA|DHE_DSS|RSA)_WITH_((?:AES|CAMELLIA|CHACHA20)_[A-Z0-9_]+)"
)


def openssl_name(suite: str) -> str | None:
    """Return OpenSSL's name of a suite; None for a suite of TLS 1.3, which is always offered.

    A name that is already OpenSSL's comes back unchanged. Raises ValueError for anything else: pre-shared
    keys, anonymous and unencrypted suites and rare ciphers have to be written in OpenSSL's spelling.
    """
    if re.fullmatch(r"TLS_(AES|CHACHA20)_[A-Z0-9_]+", suite):
        return None
    if re.fullmatch(r"[@!+A-Za-z0-9:=.-]+", suite):
        return suite
    found = _SUITE.fullmatch(suite)
    if found is None:
        raise ValueError(suite)
    exchange, cipher = found.groups()
    cipher = re.sub(r"^(AES|CAMELLIA)_(\d+)", r"\1\2", cipher)
    cipher = cipher.replace("_CBC_", "_").replace("_CCM_8", "_CCM8")
    cipher = cipher.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    prefix = "" if exchange == "RSA" else exchange.replace("_", "-") + "-"
    return prefix + cipher.replace("_", "-")
