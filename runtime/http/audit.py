"""Audit log: one line for each request that changes something, allowed or refused.

A line says who (user or role of the token, name in the client's certificate, address), what (method, path,
object) and the status. It has no query, header or body. Text of a client is bounded, and escaped.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from aiohttp import hdrs, web

from runtime.http.tls import client_names
from runtime.process.allowance import Allowance

if TYPE_CHECKING:
    from aiohttp.typedefs import Handler, Middleware

    from runtime.process.clock import Clock
    from runtime.process.logs import Logger

FORWARDED = "Mirrorwatch-Forwarded-By"  # the replica that has passed a request on
UNKNOWN_PER_MINUTE = 60  # lines about clients that did not sign in, who could fill the disk
_READS = frozenset({hdrs.METH_GET, hdrs.METH_HEAD, hdrs.METH_OPTIONS})
_LONGEST = 200


class Who(NamedTuple):
    """The user of a request, and the roles of its token; empty if it has none that is known.

    A request that has not `signed_in` may name a user without the password.
    """

    user: str = ""
    role: str = ""
    signed_in: bool = False


WHO = web.RequestKey("who", Who)  # set by sign-in
OBJECT = web.RequestKey("object", str)  # what a request changes, set by its handler


def audited(log: Logger, clock: Clock) -> Middleware:
    """Log each request that changes something with its result: accepted, or refused as a warning."""
    unknown = Allowance(UNKNOWN_PER_MINUTE, per_s=60.0)
    not_logged = 0

    def note(request: web.Request, status: int) -> None:
        nonlocal not_logged
        who = request.get(WHO, Who())
        names = client_names(request)
        refused = status >= HTTPStatus.BAD_REQUEST
        if refused and not (who.signed_in or names) and unknown.take(clock.monotonic_ns()):
            not_logged += 1
            return
        facts = {
            "user": who.user or ("" if who.role else "unknown"),
            "role": who.role,
            "certificate": names[0] if names else "",
            "address": request.remote or "",
            "forwarded_by": request.headers.get(FORWARDED, ""),
            "method": request.method,
            "path": request.rel_url.raw_path,
            "object": request.get(OBJECT, ""),
        }
        shown = {key: _shown(value) for key, value in facts.items() if value}
        if not refused:
            log.info("change accepted", **shown, status=status)
            return
        missing = {"not_logged_before": not_logged} if not_logged else {}
        not_logged = 0
        log.warning("change refused", **shown, status=status, **missing)

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.method in _READS or request.match_info.http_exception is not None:
            return await handler(request)
        status = int(HTTPStatus.INTERNAL_SERVER_ERROR)
        try:
            response = await handler(request)
            status = response.status
        except web.HTTPException as refusal:
            status = refusal.status
            raise
        else:
            return response
        finally:
            note(request, status)

    return middleware


def _shown(text: str) -> str:
    """Return text of a client for the log: bounded, with everything escaped that does not print."""
    cut = f"{text[:_LONGEST]}..." if len(text) > _LONGEST else text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in cut)
