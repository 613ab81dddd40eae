"""Ask the service in this container whether it is alive: exit status 0, or 1 with a sentence.

MIRRORWATCH_HEALTH_URL says where it listens. A server that asks for a user answers 401: it is alive, and
this check holds no password. Nor has it a certificate: a server that requires one ends the connection, and is
alive. One that hangs answers neither way.
"""

from __future__ import annotations

import http.client
import os
import ssl
import sys
import urllib.error
import urllib.request

TIMEOUT_S = 4


def problem(url: str) -> str | None:
    """Return what is wrong with the service behind `url` in one sentence, or None when it is alive."""
    if not url.startswith(("http://", "https://")):
        return f"MIRRORWATCH_HEALTH_URL: invalid address '{url}'; write one with http:// or https://"
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S):  # noqa: S310 - the scheme is checked above
            return None
    except urllib.error.HTTPError as error:
        return None if error.code == 401 else f"{url} answers {error.code}"
    except http.client.InvalidURL as error:
        return f"MIRRORWATCH_HEALTH_URL: invalid address '{url}'; {error}"
    except (http.client.HTTPException, OSError) as error:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        if url.startswith("https://") and refuses_clients(cause):
            return None
        no_http = isinstance(cause, http.client.HTTPException)
        return f"{url} does not answer{f' by HTTP: {type(cause).__name__}' if no_http else f': {cause}'}"


def refuses_clients(cause: object) -> bool:
    """Return whether the server ended a TLS connection, as it does with a client without a certificate.

    TLS 1.2 ends it in the handshake, TLS 1.3 after it. asyncio closes it without an alert.
    """
    if isinstance(cause, ssl.SSLError):
        return isinstance(cause, ssl.SSLEOFError) or "_ALERT_" in (cause.reason or "")
    return isinstance(cause, ConnectionResetError)  # also http.client's RemoteDisconnected


if __name__ == "__main__":
    found = problem(os.environ.get("MIRRORWATCH_HEALTH_URL", "http://127.0.0.1:9699/-/healthy"))
    if found is not None:
        print(found)
        sys.exit(1)
