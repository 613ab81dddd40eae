"""Hide secrets in printed properties."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fleet.secret_keys import is_secret

if TYPE_CHECKING:
    from collections.abc import Mapping

HIDDEN: Final = "[hidden]"

_USER_INFO: Final = re.compile(r"(?<=://)[^/?#\s@]*@")


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
