"""Requests to other replicas: a client's request as it is, or one of this replica.

Each has a connection of its own: a replica may end at any time, and its address may be another's afterwards.
No cookie is kept, as the next request may be of another user.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import hdrs, web
from yarl import URL

from fleet.errors import UnavailableError
from runtime.http.audit import FORWARDED
from runtime.http.guards import cut

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from ssl import SSLContext

PART = "Mirrorwatch-Part"  # a request of another replica: the shard that alone is to answer, `2/3`
FORWARD_S = 25.0  # less than the limit of a whole request
CONNECT_S = 2.0
MOST_BYTES = 32 * 10**6
# Of one connection, not of the message (RFC 9110, 7.6.1), and what the client sets itself.
_HOP = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_AUTOMATIC = (hdrs.ACCEPT, hdrs.ACCEPT_ENCODING, hdrs.USER_AGENT)


class NotReachedError(UnavailableError):
    """A replica to which nothing was sent: another one may be asked the same."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """The whole answer of a replica."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def response(self) -> web.Response:
        """Return it as the answer to a client."""
        return web.Response(status=self.status, headers=dict(self.headers), body=self.body)


class Forwarder:
    """Sends requests to other replicas; `replica` is the name of this one, `tls` returns its TLS context."""

    def __init__(self, replica: str, *, tls: Callable[[], SSLContext | bool] = lambda: True) -> None:
        self._replica = replica
        self._tls = tls
        self._opened: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close what is open."""
        if self._opened is not None:
            await self._opened.close()

    async def forward(self, request: web.Request, url: str, *, part: str = "") -> web.StreamResponse:
        """Answer a request as the replica at this address does; `part` is the shard that alone is to answer.

        That replica bounds the body, which passes in pieces. Raises UnavailableError if it does not answer.
        """
        _require_path(request.raw_path)
        response: web.StreamResponse | None = None
        try:
            async with self._session.request(
                request.method,
                URL(url + request.raw_path, encoded=True),
                headers=self._headers(request.headers, part),
                skip_auto_headers=_AUTOMATIC,
                data=request.content if request.body_exists else None,
                ssl=self._tls(),
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=FORWARD_S, sock_connect=CONNECT_S),
            ) as answer:
                response = web.StreamResponse(status=answer.status, headers=_kept(answer.headers))
                await response.prepare(request)
                async for piece in answer.content.iter_any():
                    await response.write(piece)
                await response.write_eof()
                return response
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            if response is not None and response.prepared:  # a part of an answer must not look complete
                cut(request)
            invalid = request.content.exception()
            if invalid is not None:  # the client's fault, or it has left
                raise invalid from error
            raise _silent(url, error) from error

    async def fetch(
        self,
        url: str,
        path: str,
        *,
        part: str,
        headers: Mapping[str, str],
        within_s: float,
        method: str = hdrs.METH_GET,
    ) -> Fetched:
        """Return the answer of the replica at this address; `path` has the query, percent-encoded.

        Raises UnavailableError if it does not answer in time, or with too much.
        """
        _require_path(path)
        try:
            async with self._session.request(
                method,
                URL(url + path, encoded=True),
                headers=self._headers(headers, part),
                skip_auto_headers=_AUTOMATIC,
                ssl=self._tls(),
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=within_s, sock_connect=min(CONNECT_S, within_s)),
            ) as answer:
                body = bytearray()
                async for piece in answer.content.iter_any():
                    body += piece
                    if len(body) > MOST_BYTES:
                        too_much = f"its replica at {url} answers with more than {MOST_BYTES // 10**6} MB"
                        raise UnavailableError(too_much)
                return Fetched(answer.status, _kept(answer.headers), bytes(body))
        except TimeoutError as error:
            raise UnavailableError(f"its replica at {url} does not answer within {within_s:g} s") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _silent(url, error) from error

    @property
    def _session(self) -> aiohttp.ClientSession:
        if self._opened is None:
            self._opened = aiohttp.ClientSession(
                auto_decompress=False,
                connector=aiohttp.TCPConnector(force_close=True),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._opened

    def _headers(self, headers: Mapping[str, str], part: str) -> dict[str, str]:
        """Return what is sent: the headers of a message, and who passes it on."""
        sent = _kept(headers)
        former = headers.get(FORWARDED, "")
        sent[FORWARDED] = f"{former}, {self._replica}" if former else self._replica
        if part:
            sent[PART] = part
        return sent


def _require_path(path: str) -> None:
    """Refuse an absolute address: it would become part of the host."""
    if not path.startswith("/"):
        raise web.HTTPBadRequest(text="The address of the request must be a path.\n")


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    dropped = {*_HOP, FORWARDED.lower(), PART.lower()}
    return {name: value for name, value in headers.items() if name.lower() not in dropped}


def _silent(url: str, error: Exception) -> UnavailableError:
    replica = f"its replica at {url}"
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return UnavailableError(
                f"{replica} presents an untrusted certificate: set SSL_CERT_FILE to the file of its CA"
            )
        case aiohttp.ClientConnectorSSLError():
            return UnavailableError(f"{replica} does not speak TLS, or no common TLS version")
        case aiohttp.ServerDisconnectedError() if url.startswith("https:"):
            # With TLS 1.3, a refused certificate of the client looks like this too.
            return UnavailableError(
                f"{replica} ends the connection without an answer; if it requires client certificates,"
                " it must accept cert_file of this one"
            )
        case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
            return NotReachedError(f"{replica} does not answer")
    return UnavailableError(f"{replica} does not answer")
