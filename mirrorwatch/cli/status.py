"""`mirrorwatch status`: shows the verdicts of a running service.

Exit status: 0 every flow is healthy; 1 a finding; 2 invalid address or cluster; 3 the worst verdict is
unknown; 4 no answer, or no answer of Mirrorwatch. The answer is foreign data: bounded, checked, and without
control characters.
"""

from __future__ import annotations

import io
import json
import os
from base64 import b64encode
from dataclasses import dataclass, field, replace
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
from yarl import URL

from fleet.errors import MalformedError
from mirrorwatch.cli.status_answer import Answer, GroupsAnswer, Note, answer_of, groups_of
from mirrorwatch.cli.status_table import show, show_groups
from mirrorwatch.web.texts import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

PORT = 9699
DEFAULT_URL = f"http://127.0.0.1:{PORT}"
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
        """Return the header of HTTP basic authentication; environment variables may hold any bytes."""
        said = f"{self.user}:{self.password}".encode(errors="surrogateescape")
        return {"Authorization": "Basic " + b64encode(said).decode()}


class NoAnswerError(Exception):
    """No verdicts; the text says what is wrong and what to do."""

    exit_status = 4


class _UsageError(NoAnswerError):
    """Invalid arguments."""

    exit_status = 2


@dataclass(frozen=True, slots=True)
class Question:
    """A request to a service: `search` and `kafka_cluster` select groups, empty for all.

    User and password are from the address, or else from `environ`.
    """

    url: str
    as_json: bool = False
    search: str = ""
    kafka_cluster: str = ""
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


async def status(question: Question, *, console: Console, errors: Console) -> int:
    """Show the verdicts of the service and return the exit status.

    Errors go to `errors`, so that --json prints JSON or nothing.
    """
    allow_question_marks(console)
    try:
        return await ask(question, console)
    except NoAnswerError as error:
        say(errors, f"{error}.")
        return error.exit_status


async def ask(question: Question, console: Console, *, indent: int | None = 2) -> int:
    """As `status`, but raises NoAnswerError. `indent` is for JSON, None for one line."""
    address = address_of(question.url)
    credentials = _credentials(address, question.environ)
    answer = _read(await _fetch(address, credentials), address)
    if question.as_json:
        console.out(json.dumps(answer.document, indent=indent, ensure_ascii=True), highlight=False)
        return exit_status(answer)
    groups = await _groups(address, credentials, search=question.search, kafka_cluster=question.kafka_cluster)
    show(answer, console)
    if groups is not None:
        show_groups(groups, console)
    return exit_status(answer)


def allow_question_marks(console: Console) -> None:
    """Show a question mark for characters that the terminal cannot show."""
    if isinstance(console.file, io.TextIOWrapper):
        console.file.reconfigure(errors="replace")


def say(console: Console, sentence: str) -> None:
    """Print a sentence without markup, separated from tables."""
    console.print(sentence, style="bold", markup=False, highlight=False, soft_wrap=True)


def exit_status(answer: Answer) -> int:
    """Return 0 if every flow is healthy, 1 for a finding, 3 if the worst is unknown.

    Without flows: 0 if every cluster is up, 3 if their state is unknown.
    """
    verdicts = {flow.verdict for flow in answer.flows}
    if answer.document.get("missing_flows"):
        verdicts.add("unknown")
    if not verdicts:
        return 3 if answer.clusters else 0
    if verdicts - {"healthy", "unknown"}:
        return 1
    return 0 if verdicts == {"healthy"} else 3


def address_of(url: str) -> URL:
    """Return the URL of the document; the default is HTTP and port 9699."""
    text = url.strip()
    if text.endswith((".yaml", ".yml", ".properties")):
        raise _UsageError(
            f"'{plain(text)[:200]}': a configuration, not the address of a service; write a host, such"
            f" as localhost:{PORT}"
        )
    if _is_ipv6(text):
        text = f"[{text}]"
    try:
        address = URL(text if "://" in text else f"http://{text}")
        usable = address.scheme in ("http", "https") and bool(address.host) and address.port is not None
        usable = usable and not any(letter.isspace() for letter in text)
    except ValueError:
        usable = False
    if not usable:
        raise _UsageError(_no_address(text))
    if address.explicit_port is None:
        address = address.with_port(PORT)
    path = address.path.rstrip("/").removesuffix(PATH)
    return address.with_path(path + PATH)


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def _no_address(text: str) -> str:
    if "@" in text:  # what comes before it may be a password
        sentence = "the address with a user: invalid; write it as https://user:password@host:9699"
        hint = "in user and password write %2F for a slash, %23 for #, %3F for ? and %40 for @"
        return f"{sentence}, and {hint}"
    return f"'{plain(text)[:200]}': invalid address; write HOST, HOST:PORT or {DEFAULT_URL}"


def _credentials(address: URL, environ: Mapping[str, str]) -> _Credentials | None:
    user, password = address.user, address.password
    if user is None:
        user, password = environ.get(USER), environ.get(PASSWORD)
    if not user:
        return None
    if ":" in user:
        raise _UsageError(f"user '{plain(user)[:200]}': a user's name must not contain a colon; check {USER}")
    return _Credentials(user, password or "")


async def _groups(
    address: URL, credentials: _Credentials | None, *, search: str, kafka_cluster: str
) -> GroupsAnswer | None:
    """Return the groups; None if the service does not watch groups, _UsageError for an unknown cluster."""
    path = address.path.removesuffix(PATH)
    wanted = {key: value for key, value in (("search", search), ("kafka_cluster", kafka_cluster)) if value}
    asked = address.with_path(path + GROUPS_PATH).with_query({**wanted, "limit": str(WORST_GROUPS)})
    try:
        # Errors have a document too: 404 without a lag monitor, 503 if it does not answer.
        body = await _fetch(asked, credentials, also=(404, 503))
    except NoAnswerError as error:
        return GroupsAnswer((), 0, (), (Note("Groups", f"{error}."),))
    try:
        document = json.loads(body, parse_constant=_refuse)
        found = groups_of(document)
    except (ValueError, RecursionError):
        return None
    if found is None:
        return None
    if document.get("code") == "unknown_cluster":
        raise _UsageError(f"--cluster: {found.notes[0].sentence}")
    page = _shown(address.with_path(path + GROUPS_PAGE).with_query(wanted))
    return replace(found, page=page, searched=bool(search))


async def _fetch(address: URL, credentials: _Credentials | None, *, also: tuple[int, ...] = ()) -> bytes:
    """Return the body of the document, also with one of these statuses.

    Raises NoAnswerError with what to do.
    """
    shown = _shown(address)
    headers = {"Accept": "application/json"} | (credentials.header() if credentials else {})
    try:
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT, headers=headers) as session,
            session.get(address.with_user(None), allow_redirects=False) as response,
        ):
            if response.status in (401, 403):
                raise NoAnswerError(_not_let_in(shown, response.status, credentials))
            if response.status == 200 or response.status in also:
                return await _bounded(response, shown)
            raise NoAnswerError(_other_status(shown, response))
    except aiohttp.ClientConnectorCertificateError as error:
        raise NoAnswerError(
            f"{shown}: the certificate is not trusted; set SSL_CERT_FILE to the file of its CA"
        ) from error
    except aiohttp.ClientConnectorDNSError as error:
        raise NoAnswerError(f"{shown}: unknown host {plain(str(address.host))}; check its name") from error
    except aiohttp.ClientConnectorSSLError as error:
        raise NoAnswerError(
            f"{shown}: TLS handshake failed; write http:// if the service has no TLS"
        ) from error
    except aiohttp.ClientConnectorError as error:
        code = error.os_error.errno
        reason = os.strerror(code) if code and code > 0 else str(error.os_error)
        raise NoAnswerError(
            f"{shown}: no service answers ({plain(reason)}); start it with 'mirrorwatch run CONFIG', or write"
            f" the host and port where it or its proxy listens"
        ) from error
    except TimeoutError as error:
        raise NoAnswerError(
            f"{shown}: no answer within {_TIMEOUT.total:g} s; try again, or read the log of the service"
        ) from error
    except (aiohttp.ClientError, ValueError, OSError) as error:
        raise NoAnswerError(
            f"{shown}: the answer is not valid HTTP ({type(error).__name__});"
            " write https:// if the service has TLS, and the host and port of mirrorwatch"
        ) from error


def _other_status(shown: str, response: aiohttp.ClientResponse) -> str:
    said = f"{shown}: HTTP status {response.status}"
    if response.status >= 500:
        return f"{said}, the service or a proxy failed; read its log"
    if 300 <= response.status < 400:
        where = plain(response.headers.get("Location", ""))[:200]
        return f"{said}, a redirect{f' to {where}' if where else ''}; write the address of mirrorwatch itself"
    return f"{said}, so this is not mirrorwatch; write its host and port"


def _not_let_in(shown: str, code: int, credentials: _Credentials | None) -> str:
    if credentials is not None:
        user = plain(credentials.user)[:200]
        return (
            f"{shown}: user {user} or the password is not accepted (HTTP status {code}); check {USER} and"
            f" {PASSWORD}"
        )
    return (
        f"{shown}: a user is required (HTTP status {code}); set {USER} and {PASSWORD}, or write"
        " https://user:password@host"
    )


async def _bounded(response: aiohttp.ClientResponse, shown: str) -> bytes:
    """Read a body, up to the size that a service with thousands of flows may send."""
    body = bytearray()
    async for chunk in response.content.iter_chunked(2**16):
        body += chunk
        if len(body) > _MOST_BYTES:
            raise NoAnswerError(
                f"{shown}: the answer is larger than {_MOST_BYTES // 10**6} MB, so this is not mirrorwatch;"
                " write its host and port"
            )
    return bytes(body)


def _read(body: bytes, address: URL) -> Answer:
    try:
        return answer_of(json.loads(body, parse_constant=_refuse))
    except (ValueError, RecursionError, MalformedError) as error:
        what = "an HTML page" if body.lstrip()[:1] == b"<" else "not a document of flows"
        raise NoAnswerError(
            f"{_shown(address)}: the answer is {what}, so this is not mirrorwatch; write its host and port"
        ) from error


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _shown(address: URL) -> str:
    """Return the address without user and password."""
    return plain(str(address.with_user(None)))
