"""Report the result of a checksum run to a running service: `checksum run --post URL`.

A service stores a run once, however often it is sent. So failed requests are retried a few times, and
rejected ones are not. Some rejections concern one run only (invalid, unknown flow, too large): sending it
again is useless.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from fleet.errors import ConfigurationError, MalformedError, MirrorwatchError, Problem, UnavailableError
from mirrorwatch.audits.run_document import MOST_BYTES
from mirrorwatch.web.texts import plain
from runtime.http.client import post

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from runtime.http.client import Answer

TOKEN = "MIRRORWATCH_TOKEN"  # noqa: S105 - the name of a variable
PATH = "/api/v1/checksums"
AGAIN_AFTER_S = (2.0, 10.0)

_SHOWN = 300
# Lists that are cut if a document is too large, in this order; their counts stay.
_CUTS = (
    ("expected", 100),
    ("not_read_again", 100),
    ("unsettled", 100),
    ("left_out", 100),
    ("findings", 1000),
    ("counts", 0),
    ("partitions", 0),
)


class RunRejectedError(MirrorwatchError):
    """The service rejects one run, and always will; it may accept another."""


@dataclass(frozen=True, slots=True)
class NotReported:
    """Why a run was not reported; `permanent`: retrying is useless."""

    why: str
    permanent: bool = False


def check_service(url: str, environ: Mapping[str, str]) -> None:
    """Raise ConfigurationError for an invalid address or token, before hours of work."""
    _address(url)
    _token(environ)


async def tell(
    url: str,
    document: Mapping[str, Any],
    environ: Mapping[str, str],
    *,
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> None:
    """Send a run to the service at `url`, with the token of the environment.

    Raises ConfigurationError for an invalid address or token, RunRejectedError if the service rejects this
    run, and UnavailableError if it cannot be reached or rejects everything.
    """
    address, token = _address(url), _token(environ)
    body = fitting(document)
    for pause_s in (*AGAIN_AFTER_S, None):
        try:
            answer = await post(address, body, token=token)
        except MalformedError as error:
            raise UnavailableError(
                f"cannot report the run to {address}: {error}; is it the address of Mirrorwatch?"
            ) from error
        except UnavailableError as error:
            if pause_s is None:
                raise UnavailableError(f"cannot report the run: {error}") from error
        else:
            if answer.status in (HTTPStatus.OK, HTTPStatus.CREATED):
                return
            if _is_for_good(answer):
                raise RunRejectedError(_refusal(address, answer, len(body)))
            lasting = answer.status < HTTPStatus.INTERNAL_SERVER_ERROR
            if pause_s is None or (lasting and answer.status != HTTPStatus.TOO_MANY_REQUESTS):
                raise UnavailableError(_refusal(address, answer, len(body)))
        await pause(pause_s)


def fitting(document: Mapping[str, Any]) -> bytes:
    """Return a document as JSON that a service accepts: long lists are cut if necessary."""
    found = dict(document)
    body = _written(found)
    for name, most in _CUTS:
        if len(body) <= MOST_BYTES:
            break
        part = found.get(name)
        if isinstance(part, dict) and isinstance(part.get("shown"), list):
            found[name] = {**part, "shown": part["shown"][:most]}
            body = _written(found)
    return body


def _written(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode("ascii")


def _address(url: str) -> str:
    """Return the URL for POST; a host and port without a scheme means http."""
    text = url.strip()
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        usable = usable and parts.username is None and not any(letter.isspace() for letter in text)
        usable = usable and not parts.query and not parts.fragment
    except ValueError:
        usable = False
    if not usable:
        shown = "" if "@" in text else f" '{plain(text)[:100]}'"
        raise _wrong(f"invalid address{shown}; write it as http://127.0.0.1:9699, without a user or query")
    path = parts.path.rstrip("/").removesuffix(PATH)
    return urlunsplit((parts.scheme, parts.netloc, path + PATH, "", ""))


def _token(environ: Mapping[str, str]) -> str:
    token = environ.get(TOKEN, "")
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        option_error = "is not a token" if token else "is not set"
        raise _wrong(f"{TOKEN} in the environment {option_error}; set it to http.tokens.audit of the service")
    return token


def _wrong(sentence: str) -> ConfigurationError:
    return ConfigurationError([Problem("the command line", "--post", sentence)])


def _is_for_good(answer: Answer) -> bool:
    """Return whether a rejection concerns the run: by its size, or by an error code of Mirrorwatch.

    The status alone is not enough: other servers use it for unknown addresses.
    """
    match answer.status:
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return True
        case HTTPStatus.BAD_REQUEST:
            return _value(answer.body, "code") == "invalid_document"
        case HTTPStatus.NOT_FOUND:
            return _value(answer.body, "code") == "unknown_flow"
        case _:
            return False


def _refusal(address: str, answer: Answer, size: int) -> str:
    said = _said(answer.body)
    match answer.status:
        case HTTPStatus.UNAUTHORIZED:
            what = f"rejects the token in {TOKEN}; set it to http.tokens.audit of the service"
        case HTTPStatus.FORBIDDEN if said:
            what = f"refuses: {said}"
        case HTTPStatus.NOT_FOUND | HTTPStatus.METHOD_NOT_ALLOWED if not said:
            what = "is not Mirrorwatch, or does not accept checksum runs"
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE if not said:
            what = (
                f"rejects a document of {size:,} bytes; let the proxy in front of Mirrorwatch pass"
                f" {MOST_BYTES // 2**20} MiB"
            )
        case status if answer.location:
            what = f"redirects to {plain(answer.location)[:_SHOWN]} (HTTP {status}); use that address"
        case status:
            what = f"answered HTTP {status}{f': {said}' if said else ''}"
    return f"cannot report the run: {address} {what}"


def _said(body: bytes) -> str:
    """Return the error text of an answer, or an empty string."""
    said = _value(body, "detail")
    return plain(said).strip()[:_SHOWN] if isinstance(said, str) else ""


def _value(body: bytes, key: str) -> object:
    """Return a value of an answer's JSON object, or None."""
    try:
        document = json.loads(body[:100_000])
    except (ValueError, RecursionError):
        return None
    return document.get(key) if isinstance(document, dict) else None
