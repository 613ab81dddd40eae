"""What an operator does to a running service: change its file, have it read anew, order something over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.real.service.process import ServiceProcess


def change(service: ServiceProcess, how: Callable[[dict[str, Any]], None]) -> None:
    """Change the configuration file in place, as an editor would: a whole new one under the old name."""
    document = json.loads(service.config.read_text(encoding="utf-8"))
    how(document)
    draft = service.config.with_suffix(".draft")
    draft.write_text(json.dumps(document), encoding="utf-8")
    draft.rename(service.config)


def post(service: ServiceProcess, path: str, *, token: str | None = None) -> tuple[int, Any]:
    """Return status and document; the text where it is none."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(service.url + path, method="POST", headers=headers)  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - our own loopback
            status, text = answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read().decode()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text
