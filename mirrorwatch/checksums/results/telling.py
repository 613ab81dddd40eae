"""Tell a running service what a run of the checksum came to: `checksum run --tell URL`.

The run is told once; a service that knows it counts nothing twice. So what did not get through is told again,
a few times, and what a service refuses is not. Of what it refuses some is about one run (it is none to this
service, of a flow that it has not, too large), and no more is to be had by telling that run again.
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
# What is cut of a document that is too large, first what changes no verdict; how many there are stays.
_CUTS = (
    ("expected", 100),
    ("not_read_again", 100),
    ("unsettled", 100),
    ("left_out", 100),
    ("findings", 1000),
    ("counts", 0),
    ("partitions", 0),
)


class NotTakenError(MirrorwatchError):
    """A service refuses one run, and would do so each time; it may take another."""


@dataclass(frozen=True, slots=True)
class Unheard:
    """Why a service did not hear of a run; `for_good`: it never will of this one, as it is."""

    why: str
    for_good: bool = False


def check_telling(url: str, environ: Mapping[str, str]) -> None:
    """Raise ConfigurationError where nobody could be told so, before hours of work."""
    _address(url)
    _token(environ)


async def tell(
    url: str,
    document: Mapping[str, Any],
    environ: Mapping[str, str],
    *,
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> None:
    """Tell the service at `url` of a run, with the token of the environment.

    Raises ConfigurationError where address or token are none, NotTakenError where the service refuses this
    run, and UnavailableError, with a sentence, where it cannot be reached or refuses all.
    """
    address, token = _address(url), _token(environ)
    body = fitting(document)
    for pause_s in (*AGAIN_AFTER_S, None):
        try:
            answer = await post(address, body, token=token)
        except MalformedError as error:
            raise UnavailableError(
                f"{address} was not told: {error}: is it the address of mirrorwatch?"
            ) from error
        except UnavailableError as error:
            if pause_s is None:
                raise UnavailableError(f"the run was not told: {error}") from error
        else:
            if answer.status in (HTTPStatus.OK, HTTPStatus.CREATED):
                return
            if _is_for_good(answer):
                raise NotTakenError(_refusal(address, answer, len(body)))
            lasting = answer.status < HTTPStatus.INTERNAL_SERVER_ERROR
            if pause_s is None or (lasting and answer.status != HTTPStatus.TOO_MANY_REQUESTS):
                raise UnavailableError(_refusal(address, answer, len(body)))
        await pause(pause_s)


def fitting(document: Mapping[str, Any]) -> bytes:
    """Return a document as JSON that a service takes: of long lists the beginnings, where need be."""
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
    """Return where runs are told at a service; a bare host and port is taken as http."""
    text = url.strip()
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        usable = usable and parts.username is None and not any(letter.isspace() for letter in text)
    except ValueError:
        usable = False
    if not usable:
        shown = "" if "@" in text else f"'{plain(text)[:100]}' "
        raise _wrong(f"{shown}is no address of a service: write it as http://127.0.0.1:9699, without a user")
    path = parts.path.rstrip("/").removesuffix(PATH)
    return urlunsplit((parts.scheme, parts.netloc, path + PATH, "", ""))


def _token(environ: Mapping[str, str]) -> str:
    token = environ.get(TOKEN, "")
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        wrong = "holds no token" if token else "is not set"
        raise _wrong(f"{TOKEN} in the environment {wrong}: it is that of http.tokens.audit of the service")
    return token


def _wrong(sentence: str) -> ConfigurationError:
    return ConfigurationError([Problem("the command line", "--tell", sentence)])


def _is_for_good(answer: Answer) -> bool:
    """Tell whether a refusal is about the run: for its size, or by what only a service of ours answers.

    By its code: many others answer with the same status at an address that they do not know.
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
            what = f"does not take the token of {TOKEN}: it is that of http.tokens.audit of the service"
        case HTTPStatus.FORBIDDEN if said:
            what = f"refuses: {said}"
        case HTTPStatus.NOT_FOUND | HTTPStatus.METHOD_NOT_ALLOWED if not said:
            what = "is no address of mirrorwatch, or of one that takes no checksums"
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE if not said:
            what = (
                f"takes no document of {size:,} bytes: have what stands before mirrorwatch let"
                f" {MOST_BYTES // 2**20} MiB through"
            )
        case status if answer.location:
            what = f"leads to {plain(answer.location)[:_SHOWN]} (HTTP {status}): give that address"
        case status:
            what = f"answered with HTTP {status}{f': {said}' if said else ''}"
    return f"the run was not told: {address} {what}"


def _said(body: bytes) -> str:
    """Return the sentence of an answer; empty where it has none."""
    said = _value(body, "detail")
    return plain(said).strip()[:_SHOWN] if isinstance(said, str) else ""


def _value(body: bytes, key: str) -> object:
    """Return what an answer has under a key; None where it has nothing, or is no object of JSON."""
    try:
        document = json.loads(body[:100_000])
    except (ValueError, RecursionError):
        return None
    return document.get(key) if isinstance(document, dict) else None
