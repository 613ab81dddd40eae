"""What `mirrorwatch status` does: ask a running service, say how its flows are, and tell it by exit status.

Exit status: 0 every flow is healthy; 1 a finding; 2 what was written is no address of a service; 3 the worst
that is known is `unknown`; 4 the service cannot be reached, or what answers is not mirrorwatch. What comes
over the network is read as foreign data: bounded, checked, and freed of control characters before a terminal
sees it.
"""

from __future__ import annotations

import io
import json
import os
from base64 import b64encode
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
from yarl import URL

from fleet.errors import MalformedError
from mirrorwatch.status_answer import Answer, GroupsAnswer, Note, answer_of, groups_of
from mirrorwatch.status_table import show, show_groups
from mirrorwatch.words import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

DEFAULT_URL = "http://127.0.0.1:9699"
PATH = "/api/v1/flows"
GROUPS_PATH = "/api/v1/groups"
GROUPS_PAGE = "/groups"
WORST_GROUPS = 10

_TIMEOUT = aiohttp.ClientTimeout(total=10, sock_connect=4)
_MOST_BYTES = 32 * 10**6


USER, PASSWORD = "MIRRORWATCH_USER", "MIRRORWATCH_PASSWORD"


class _Credentials(NamedTuple):
    user: str
    password: str

    def header(self) -> dict[str, str]:
        """Return them as HTTP's basic authentication sends them; the environment's may be any bytes."""
        said = f"{self.user}:{self.password}".encode(errors="surrogateescape")
        return {"Authorization": "Basic " + b64encode(said).decode()}


class _NoAnswerError(Exception):
    """No verdicts could be had; the text is a sentence for a person."""

    exit_status = 4


class _UsageError(_NoAnswerError):
    """What was asked for makes no sense."""

    exit_status = 2


async def status(
    url: str,
    *,
    as_json: bool,
    console: Console,
    environ: Mapping[str, str] = MappingProxyType({}),
    search: str = "",
    kafka_cluster: str = "",
) -> int:
    """Show the verdicts of the service at `url` on the console and return the exit status, that of the flows.

    Of groups it tells of those with `search` in their names, on this cluster; where these are empty, of all.
    User and password are those of the address, or else those of the environment.
    """
    if isinstance(console.file, io.TextIOWrapper):
        # A terminal that lacks a letter shows a question mark for it; it is no reason to fail.
        console.file.reconfigure(errors="replace")
    try:
        address = _address(url)
        credentials = _credentials(address, environ)
        answer = _read(await _fetch(address, credentials), address)
    except _NoAnswerError as error:
        console.print(str(error), style="bold", markup=False, highlight=False, soft_wrap=True)
        return error.exit_status
    if as_json:
        console.out(json.dumps(answer.document, indent=2, ensure_ascii=True), highlight=False)
    else:
        show(answer, console)
        groups = await _groups(address, credentials, search=search, kafka_cluster=kafka_cluster)
        if groups is not None:
            show_groups(groups, console)
    return exit_status(answer)


def exit_status(answer: Answer) -> int:
    """Return 0 where every flow is healthy, 1 for a finding, 3 where the worst is unknown.

    Without any flow it is 0 where every cluster is up, and 3 where what is watched there is not known.
    """
    verdicts = {flow.verdict for flow in answer.flows}
    if not verdicts:
        return 3 if answer.clusters else 0
    if verdicts - {"healthy", "unknown"}:
        return 1
    return 0 if verdicts == {"healthy"} else 3


def _address(url: str) -> URL:
    """Return the address of the document; a bare host and port is taken as http."""
    text = url.strip()
    if text.endswith((".yaml", ".yml", ".properties")):
        raise _UsageError(
            f"'{plain(text)[:200]}' is a configuration, and status asks a service: write its address, "
            f"as {DEFAULT_URL}"
        )
    try:
        address = URL(text if "://" in text else f"http://{text}")
        usable = address.scheme in ("http", "https") and bool(address.host) and address.port is not None
        usable = usable and not any(letter.isspace() for letter in text)
    except ValueError:
        usable = False
    if not usable:
        raise _UsageError(_no_address(text))
    path = address.path.rstrip("/").removesuffix(PATH)
    return address.with_path(path + PATH)


def _no_address(text: str) -> str:
    if "@" in text:  # what stands before it may be a password
        sentence = "The address has a user in it and is none of a service"
        hint = "in a user or password write %2F for a slash, %23 for #, %3F for ? and %40 for @"
        return f"{sentence}: write it as https://user:password@host:9699; {hint}"
    return f"'{plain(text)[:200]}' is no address of a service: write it as {DEFAULT_URL}"


def _credentials(address: URL, environ: Mapping[str, str]) -> _Credentials | None:
    user, password = address.user, address.password
    if user is None:
        user, password = environ.get(USER), environ.get(PASSWORD)
    if not user:
        return None
    if ":" in user:
        raise _UsageError(f"The user '{plain(user)[:200]}' has a colon in its name, which no user can have")
    return _Credentials(user, password or "")


async def _groups(
    address: URL, credentials: _Credentials | None, *, search: str, kafka_cluster: str
) -> GroupsAnswer | None:
    """Return how the groups are, None where the service does not watch any."""
    path = address.path.removesuffix(PATH)
    wanted = {key: value for key, value in (("search", search), ("cluster", kafka_cluster)) if value}
    asked = address.with_path(path + GROUPS_PATH).with_query({**wanted, "limit": str(WORST_GROUPS)})
    try:
        # 503 has a document too: what is known until all was read. 404: there is no lag monitor.
        found = groups_of(
            json.loads(await _fetch(asked, credentials, also=(404, 503)), parse_constant=_refuse)
        )
        page = _shown(address.with_path(path + GROUPS_PAGE).with_query(wanted))
        return None if found is None else replace(found, page=page, searched=bool(search))
    except _NoAnswerError as error:
        return GroupsAnswer((), 0, (), (Note("Groups", f"{error}."),))
    except (ValueError, RecursionError):
        return None


async def _fetch(address: URL, credentials: _Credentials | None, *, also: tuple[int, ...] = ()) -> bytes:
    """Return the body of the document, also where it comes with one of these statuses.

    Raises _NoAnswerError with what to do: start the service, wait for it, or bring credentials.
    """
    shown = _shown(address)
    headers = {"Accept": "application/json"} | (credentials.header() if credentials else {})
    try:
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT, headers=headers) as session,
            session.get(address.with_user(None), allow_redirects=False) as response,
        ):
            if response.status in (401, 403):
                raise _NoAnswerError(_not_let_in(shown, response.status, credentials))
            if response.status in also:
                return await _bounded(response, shown)
            if response.status >= 500:
                raise _NoAnswerError(
                    f"{shown} answered with HTTP {response.status}: the service, or a proxy before it, is in "
                    "trouble; look at its log"
                )
            if response.status != 200:
                raise _NoAnswerError(
                    f"{shown} answered with HTTP {response.status}: is this the address of mirrorwatch?"
                )
            return await _bounded(response, shown)
    except aiohttp.ClientConnectorCertificateError as error:
        raise _NoAnswerError(
            f"{shown} shows a certificate that is not trusted here: "
            "set SSL_CERT_FILE to the file of its authority"
        ) from error
    except aiohttp.ClientConnectorSSLError as error:
        raise _NoAnswerError(
            f"What listens at {shown} does not speak TLS, or none that is spoken here: write http:// if it "
            "is a service without TLS"
        ) from error
    except aiohttp.ClientConnectorError as error:
        code = error.os_error.errno
        reason = os.strerror(code) if code and code > 0 else str(error.os_error)
        raise _NoAnswerError(
            f"No service answers at {shown} ({plain(reason)}): start it with 'mirrorwatch run CONFIG', "
            "or give the address where it listens"
        ) from error
    except TimeoutError as error:
        raise _NoAnswerError(
            f"{shown} did not answer within {_TIMEOUT.total:g} seconds: "
            "try again, or look at the service's log"
        ) from error
    except (aiohttp.ClientError, ValueError, OSError) as error:
        raise _NoAnswerError(
            f"What answers at {shown} does not speak HTTP as expected ({type(error).__name__}): "
            "is this the address of mirrorwatch, and http or https as it should be?"
        ) from error


def _not_let_in(shown: str, code: int, credentials: _Credentials | None) -> str:
    if credentials is not None:
        return f"{shown} does not let in {plain(credentials.user)[:200]} with this password (HTTP {code})"
    return (
        f"{shown} asks for credentials (HTTP {code}): set {USER} and {PASSWORD}, or give them in the "
        "address, as https://user:password@host"
    )


async def _bounded(response: aiohttp.ClientResponse, shown: str) -> bytes:
    """Read a body, but no more than a service with thousands of flows would send."""
    body = bytearray()
    async for chunk in response.content.iter_chunked(2**16):
        body += chunk
        if len(body) > _MOST_BYTES:
            raise _NoAnswerError(
                f"{shown} sends more than {_MOST_BYTES // 10**6} MB: is this the address of mirrorwatch?"
            )
    return bytes(body)


def _read(body: bytes, address: URL) -> Answer:
    try:
        return answer_of(json.loads(body, parse_constant=_refuse))
    except (ValueError, RecursionError, MalformedError) as error:
        raise _NoAnswerError(
            f"What answers at {_shown(address)} is not mirrorwatch: its answer is no document of flows; "
            "give the address of the service's own page"
        ) from error


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _shown(address: URL) -> str:
    """Return the address without the name and password that it may carry."""
    return plain(str(address.with_user(None)))
