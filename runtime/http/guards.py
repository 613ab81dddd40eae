"""What every request passes: security headers, plain errors, a time limit, and sign-in."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, NoReturn

from aiohttp import hdrs, web

from runtime.http.audit import WHO, Who
from runtime.http.problems import as_problem
from runtime.http.users import Token, Users, roles_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from aiohttp.typedefs import Handler, Middleware

    from runtime.process.logs import Logger

API = "/api/"
_BEGUN = web.RequestKey("begun", bool)  # whether the first bytes of the answer may be sent

# Pages bring their own style sheet and script as files of this server; nothing comes from elsewhere, nothing
# stands inline, and no other site may frame the page.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


async def put_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Add the headers to any answer that does not set its own; a signal for on_response_prepare."""
    request[_BEGUN] = True
    add_headers(response)


def add_headers(response: web.StreamResponse) -> None:
    """Add the headers that an answer does not set itself."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault(hdrs.CACHE_CONTROL, "no-store")
    response.headers[hdrs.SERVER] = "mirrorwatch"


def cut(request: web.Request) -> NoReturn:
    """Close the connection of an unfinished answer: the next answer would become part of it."""
    if request.transport is not None:
        request.transport.abort()
    raise ConnectionResetError from None


def plain_errors(log: Logger) -> Middleware:
    """Turn an unexpected exception into a plain 500 and log it; no traceback leaves the process.

    A client that closes its connection during an answer is not an error, and is not logged. A refusal is a
    sentence: plain text, and a problem of RFC 9457 under /api/, where scripts read JSON.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPException as refusal:
            if refusal.text == f"{refusal.status}: {refusal.reason}":
                refusal.text = _sentence(refusal.status, request)
            raise _in_form(refusal, request) from refusal.__cause__
        except web.RequestPayloadError:
            if _BEGUN in request:
                cut(request)
            sentence = "The body of the request cannot be decoded.\n"
            raise _in_form(web.HTTPBadRequest(text=sentence), request) from None
        except Exception as error:
            if isinstance(error, ConnectionError) and _has_left(request):
                raise  # to the library, which closes the connection
            log.exception("a request failed: a bug", method=request.method, path=request.path)
            if _BEGUN in request:
                cut(request)
            failed = "The request failed inside mirrorwatch; its log says why.\n"
            raise _in_form(web.HTTPInternalServerError(text=failed), request) from None

    return middleware


def _in_form(refusal: web.HTTPException, request: web.Request) -> web.HTTPException:
    """Return a refusal as it is, under /api/ as a problem."""
    return as_problem(refusal, path=request.path) if request.path.startswith(API) else refusal


def _has_left(request: web.Request) -> bool:
    """Return whether the client has closed its connection."""
    return request.transport is None or request.transport.is_closing()


def _sentence(status: int, request: web.Request) -> str:
    match status:
        case HTTPStatus.NOT_FOUND:
            return "No page at this address.\n"
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return f"{request.method} is not possible at this address.\n"
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return "The request is larger than what is accepted here.\n"
        case _:
            return f"{HTTPStatus(status).phrase}.\n"


def time_limit(limit_s: float) -> Middleware:
    """End a request that takes longer, for example one with a very slow body."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            async with asyncio.timeout(limit_s) as limit:
                return await handler(request)
        except TimeoutError:
            if not limit.expired():
                raise
            if _BEGUN in request:
                cut(request)
            raise web.HTTPRequestTimeout(
                text=f"The request took longer than {limit_s:g} s.\n", headers={hdrs.CONNECTION: "close"}
            ) from None

    return middleware


def sign_in(users: Callable[[], Users | None], tokens: Callable[[], Mapping[str, Token]]) -> Middleware:
    """Require a user for every request if users are configured, as exporter-toolkit does, also /-/healthy.

    HTTP has one Authorization header: a request with a configured bearer token passes without a user, and
    a request that requires a certain token still checks it. `users` and `tokens` are called each time: a
    reload may change them.
    """

    @web.middleware
    async def middleware(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        known, role = users(), roles_of(request, tokens())
        who = Who("" if known is None else known.named(request), role, signed_in=bool(role))
        request[WHO] = who  # also if it is refused
        if known is not None and not role:
            if not await known.accept(request):
                raise web.HTTPUnauthorized(
                    text="Sign in with a user of the web configuration.\n",
                    headers={hdrs.WWW_AUTHENTICATE: 'Basic realm="mirrorwatch", charset="UTF-8"'},
                )
            request[WHO] = who._replace(signed_in=True)
        return await handler(request)

    return middleware
