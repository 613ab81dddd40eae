"""Ask the service in this container whether it is alive: exit status 0, or 1 with a sentence.

MIRRORWATCH_HEALTH_URL says where it listens. A server that asks for a user answers 401: it is alive, and
this check holds no password.
"""

from __future__ import annotations

import http.client
import os
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
    except http.client.HTTPException as error:
        return f"{url} does not answer by HTTP: {type(error).__name__}"
    except OSError as error:
        return f"{url} does not answer: {getattr(error, 'reason', error)}"


if __name__ == "__main__":
    found = problem(os.environ.get("MIRRORWATCH_HEALTH_URL", "http://127.0.0.1:9699/-/healthy"))
    if found is not None:
        print(found)
        sys.exit(1)
