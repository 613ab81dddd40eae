"""One bounded HTTP request: its answer, or a sentence why there is none."""

from __future__ import annotations

import io
import os
import re
from base64 import b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import aiohttp

from fleet.errors import MalformedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

TIMEOUT_S = 10.0
POST_TIMEOUT_S = 40.0  # some megabytes, over an ocean
MOST_BYTES = 32 * 10**6
_PRIVATE = re.compile(r"(?<=//)[^/?#]*@|[?#].*", re.DOTALL)  # user and password, query and fragment


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, body, and target of a redirection without user and query (or empty)."""

    status: int
    body: bytes = field(repr=False)
    location: str = ""


@dataclass(frozen=True, slots=True)
class User:
    """A user for HTTP basic authentication."""

    name: str
    password: str = field(repr=False)

    def header(self) -> dict[str, str]:
        """Return the header that tells both."""
        return {"Authorization": "Basic " + b64encode(f"{self.name}:{self.password}".encode()).decode()}


async def get(
    url: str, *, user: User | None = None, parameters: Mapping[str, list[str]] | None = None
) -> Answer:
    """Return the answer to a GET of this address, whatever its status; redirections are not followed.

    Raises UnavailableError without an answer within TIMEOUT_S, and MalformedError if the server does
    not speak HTTP, or sends more than MOST_BYTES.
    """
    pairs = [(name, value) for name, values in (parameters or {}).items() for value in values]
    return await _asked("GET", url, {} if user is None else user.header(), TIMEOUT_S, params=pairs)


async def post(url: str, body: bytes, *, token: str) -> Answer:
    """Return the answer to a POST of this JSON with a bearer token, whatever its status; as `get` otherwise.

    It may take POST_TIMEOUT_S.
    """
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    return await _asked("POST", url, headers, POST_TIMEOUT_S, data=io.BytesIO(body))


async def _asked(method: str, url: str, headers: Mapping[str, str], timeout_s: float, **more: Any) -> Answer:
    timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=TIMEOUT_S / 2)
    headers = {"Accept": "application/json", **headers}
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, headers=headers) as session,
            session.request(method, url, allow_redirects=False, **more) as answer,
        ):
            body = await _bounded(answer)
            return Answer(answer.status, body, _PRIVATE.sub("", answer.headers.get("Location", "")))
    except aiohttp.ClientConnectorCertificateError as error:
        raise UnavailableError(
            f"{url} presents an untrusted certificate: set SSL_CERT_FILE to the file of its CA"
        ) from error
    except aiohttp.ClientConnectorSSLError as error:
        raise MalformedError("it does not speak TLS, or no common TLS version") from error
    except aiohttp.ClientConnectorError as error:
        code = error.os_error.errno
        reason = os.strerror(code) if code and code > 0 else str(error.os_error)
        raise UnavailableError(
            f"{url} cannot be reached ({reason}); check that it runs and is reachable from this host"
        ) from error
    except TimeoutError as error:
        raise UnavailableError(f"{url} did not answer within {timeout_s:g} s: try again") from error
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
        raise UnavailableError(f"{url} ended the connection without an answer: try again") from error
    except (aiohttp.ClientError, ValueError, OSError) as error:
        raise MalformedError("it does not speak HTTP") from error


async def _bounded(answer: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in answer.content.iter_chunked(2**16):
        body += chunk
        if len(body) > MOST_BYTES:
            raise MalformedError(f"it sends more than {MOST_BYTES // 10**6} MB")
    return bytes(body)
