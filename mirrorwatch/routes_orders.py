"""What the service can be told to do over HTTP: read its configuration anew, and let a canary go on."""

from __future__ import annotations

import math
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

from aiohttp import hdrs, web

from fleet.errors import UnavailableError
from mirrorwatch.routes import find_flow, json_answer, unknown_sentence
from runtime import logs
from runtime.allowance import Allowance
from runtime.http_users import require_token

if TYPE_CHECKING:
    from canary.latches import Latch
    from mirrorwatch.reloading import Reloaded
    from mirrorwatch.view import ServiceView
    from runtime.clock import Clock
    from runtime.config import HttpConfig

RESUMES_PER_MINUTE = 10
RELOADS_PER_MINUTE = 10


class Orders(Protocol):
    """Who carries them out."""

    @property
    def http(self) -> HttpConfig:
        """Return the section `http` as it is now."""
        ...

    def view(self) -> ServiceView:
        """Return what the page shows."""
        ...

    async def resume(self, source: str, topic: str) -> Latch | None:
        """Lift the latch of this topic; None where there is none, UnavailableError where it cannot be."""
        ...

    async def reload(self) -> Reloaded:
        """Read the configuration anew and take it over."""
        ...


def order_routes(orders: Orders, *, clock: Clock) -> list[web.RouteDef]:
    """Return the routes of what changes something; each looks at http.tokens and http.reload as they are."""
    desk = _Desk(orders, clock)
    return [
        web.post("/api/v1/flows/{flow:.+}/canary/resume", desk.resume),
        web.post("/-/reload", desk.reload),
    ]


class _Desk:
    """Looks at who asks, and how often, before anything is done."""

    def __init__(self, orders: Orders, clock: Clock) -> None:
        self._orders = orders
        self._clock = clock
        self._log = logs.get("orders")
        self._resumes = Allowance(RESUMES_PER_MINUTE, per_s=60.0)
        self._reloads = Allowance(RELOADS_PER_MINUTE, per_s=60.0)

    async def resume(self, request: web.Request) -> web.Response:
        refusal = _unless_operator(request, self._orders.http)
        if refusal is not None:
            return refusal
        view, name = self._orders.view(), request.match_info["flow"]
        flow = find_flow(view, name)
        if flow is None:
            return _refusal(HTTPStatus.NOT_FOUND, unknown_sentence(view, name))
        wait_s = self._resumes.take(self._clock.monotonic_ns())
        if wait_s:
            return _too_often(wait_s)
        topic, source = flow.canary_topic, flow.source
        try:
            latch = await self._orders.resume(source, topic)
        except UnavailableError as error:
            return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, f"nothing was changed: {error}")
        if latch is None:
            sentence = f"nothing is latched: no probe sent to {topic} on {source} is known to have come back"
            return _refusal(HTTPStatus.CONFLICT, sentence)
        self._log.warning("a latch was lifted", kafka_cluster=source, topic=topic, by=request.remote)
        sentence = f"probes are sent to {topic} on {source} again, for every flow from there"
        lifted = {
            "kafka_cluster": source,
            "topic": topic,
            "latched_at": latch.latched_at,
            "why": latch.sentence,
        }
        return json_answer({"flow": flow.flow, "sentence": sentence, "lifted": lifted})

    async def reload(self, request: web.Request) -> web.Response:
        http = self._orders.http
        if not http.reload:
            sentence = "reloading over HTTP is off: set http.reload: true, or send the process SIGHUP"
            return _refusal(HTTPStatus.FORBIDDEN, sentence)
        if http.tokens.operator is not None:
            refusal = _unless_operator(request, http)
            if refusal is not None:
                return refusal
        elif _is_of_another_site(request):
            return _refusal(HTTPStatus.FORBIDDEN, "a page of another site may not ask for this")
        wait_s = self._reloads.take(self._clock.monotonic_ns())
        if wait_s:
            return _too_often(wait_s)
        self._log.info("a reload was asked for", by=request.remote)
        done = await self._orders.reload()
        if done.problems:
            status = HTTPStatus.SERVICE_UNAVAILABLE if done.unavailable else HTTPStatus.BAD_REQUEST
            return json_answer({"problems": list(done.problems)}, status=status)
        return json_answer({"changes": list(done.sentences), "at_the_next_start": list(done.later)})


def _is_of_another_site(request: web.Request) -> bool:
    """Tell whether a page from elsewhere asks; over plain HTTP browsers say so by `Origin` alone."""
    if request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
        return True
    origin = request.headers.get(hdrs.ORIGIN)
    return origin is not None and origin.partition("://")[2] != request.host


def _unless_operator(request: web.Request, http: HttpConfig) -> web.Response | None:
    """Return why this request may not order anything, None where it brings the operator's token."""
    try:
        require_token(request, http.tokens.operator)
    except (web.HTTPForbidden, web.HTTPUnauthorized) as refused:
        answer = _refusal(HTTPStatus(refused.status), (refused.text or "").strip())
        if hdrs.WWW_AUTHENTICATE in refused.headers:
            answer.headers[hdrs.WWW_AUTHENTICATE] = refused.headers[hdrs.WWW_AUTHENTICATE]
        return answer
    return None


def _refusal(status: HTTPStatus, sentence: str) -> web.Response:
    return json_answer({"error": sentence}, status=status)


def _too_often(wait_s: float) -> web.Response:
    document: dict[str, Any] = {"error": f"this was asked for too often: try again in {math.ceil(wait_s)} s"}
    answer = json_answer(document, status=HTTPStatus.TOO_MANY_REQUESTS)
    answer.headers[hdrs.RETRY_AFTER] = str(math.ceil(wait_s))
    return answer
