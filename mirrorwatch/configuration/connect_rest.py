"""Requests to the REST API of Kafka Connect, and errors for unusable answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fleet.errors import MalformedError, RefusedError, UnavailableError
from runtime.http.client import Answer, User, get

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mirrorwatch.configuration.sections import ConnectSection

_AUTHORISED, _FOUND = (401, 403), 200
_REBALANCING = 409
_LATER = (408, 429)  # of a proxy that is busy


async def answer_of(
    section: ConnectSection, path: str, parameters: Mapping[str, list[str]] | None = None
) -> Any:
    """Return the JSON document at this path of the worker, whatever its content.

    Raises UnavailableError if nothing answers or the worker is busy, RefusedError if it refuses the user, and
    MalformedError if the answer is not from Kafka Connect; each with the address.
    """
    password = section.password.get_secret_value() if section.password else ""
    user = User(section.username, password) if section.username else None
    try:
        answer = await get(section.url + path, user=user, parameters=parameters)
    except MalformedError as error:
        raise no_connect(section, str(error)) from error
    return _document(section, _checked(section, answer))


def no_connect(section: ConnectSection, why: str) -> MalformedError:
    """Return the error for an address at which another program listens."""
    todo = "write the address of a worker, such as http://connect:8083"
    return MalformedError(f"{section.url}: not Kafka Connect ({why}); {todo}")


def _checked(section: ConnectSection, answer: Answer) -> Answer:
    """Return a successful answer; raises an error for any other status."""
    status, name = answer.status, section.url
    if status in _AUTHORISED:
        raise RefusedError(_refused(section, status))
    if status == _REBALANCING:
        raise UnavailableError(f"{name}: Connect is rebalancing (HTTP 409); try again")
    if status >= 500 or status in _LATER:
        raise UnavailableError(f"{name}: HTTP {status}; check Connect, and a proxy in front of it if any")
    if answer.location and status != _FOUND:
        raise no_connect(section, f"redirect to {answer.location[:200]}")
    if status != _FOUND:
        raise no_connect(section, f"HTTP {status}")
    return answer


def _refused(section: ConnectSection, status: int) -> str:
    user = section.username
    if user is None:
        return f"{section.url}: requires a user (HTTP {status}); set connect.username and connect.password"
    return f"{section.url}: refuses user {user} (HTTP {status}); check connect.username and connect.password"


def _document(section: ConnectSection, answer: Answer) -> Any:
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        html = answer.body.lstrip()[:1] == b"<"
        raise no_connect(section, f"the answer is {'HTML' if html else 'not JSON'}") from error
