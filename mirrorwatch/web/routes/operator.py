"""Routes that change the service: reload its configuration, resume a canary."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

from aiohttp import hdrs, web

from fleet.dialect import moment_text
from fleet.errors import UnavailableError
from mirrorwatch.api.operations import route
from mirrorwatch.api.operator import RESUME_CANARY
from mirrorwatch.web.routes.main import json_answer, known_flow
from runtime.http.audit import OBJECT
from runtime.http.problems import ProblemError, as_problem
from runtime.http.users import require_token
from runtime.process import logs
from runtime.process.allowance import Allowance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from canary.persistence.latches import Latch
    from mirrorwatch.configuration.reloading import Reloaded
    from mirrorwatch.service.view import ServiceView
    from runtime.config.sections import HttpConfig
    from runtime.process.clock import Clock

RESUMES_PER_MINUTE = 10
RELOADS_PER_MINUTE = 10


class Orders(Protocol):
    """Executes the requests."""

    @property
    def http(self) -> HttpConfig:
        """Return the present section `http`."""
        ...

    def view(self) -> ServiceView:
        """Return the view."""
        ...

    async def resume(self, source: str, topic: str) -> Latch | None:
        """Lift the latch of this topic; None if there is none. Raises UnavailableError."""
        ...

    async def reload(self) -> Reloaded:
        """Read the configuration again and apply it."""
        ...


def operator_routes(orders: Orders, *, clock: Clock) -> list[web.RouteDef]:
    """Return the routes; each request uses the present http.tokens and http.reload."""
    desk = _Desk(orders, clock)
    return [
        route(RESUME_CANARY, desk.resume),
        web.post("/-/reload", desk.reload),
    ]


class _Desk:
    """Checks the token and the rate of a request first."""

    def __init__(self, orders: Orders, clock: Clock) -> None:
        self._orders = orders
        self._clock = clock
        self._log = logs.get("orders")
        self._resumes = Allowance(RESUMES_PER_MINUTE, per_s=60.0)
        self._reloads = Allowance(RELOADS_PER_MINUTE, per_s=60.0)

    async def resume(self, request: web.Request, _asked: Mapping[str, Any]) -> web.Response:
        _require_operator(request, self._orders.http)
        flow = known_flow(request, self._orders.view())
        take_turn(self._resumes, self._clock, request)
        topic, source = flow.canary_topic, flow.source
        request[OBJECT] = f"latch of {topic} on {source}"
        try:
            latch = await self._orders.resume(source, topic)
        except UnavailableError as error:
            raise ProblemError("unavailable", f"nothing was changed: {error}", path=request.path) from error
        if latch is None:
            sentence = f"no latch to lift: no probe sent to {topic} on {source} came back to its source"
            raise ProblemError("not_latched", sentence, path=request.path)
        self._log.warning("latch lifted", kafka_cluster=source, topic=topic, by=request.remote)
        sentence = f"Mirrorwatch sends probes to {topic} on {source} again, for every flow from {source}"
        lifted = {
            "kafka_cluster": source,
            "topic": topic,
            "latched_at": moment_text(latch.latched_at),
            "sentence": latch.sentence,
        }
        return json_answer({"flow": flow.flow, "sentence": sentence, "lifted": lifted})

    async def reload(self, request: web.Request) -> web.Response:
        http = self._orders.http
        if not http.reload:
            sentence = "reloading over HTTP: off; set http.reload: true, or send the process SIGHUP"
            raise ProblemError("forbidden", sentence, path=request.path)
        if http.tokens.operator is not None:
            _require_operator(request, http)
        elif _is_of_another_site(request):
            raise ProblemError(
                "forbidden", "requests from pages of other sites are not allowed", path=request.path
            )
        take_turn(self._reloads, self._clock, request)
        request[OBJECT] = "configuration"
        self._log.info("reload requested", by=request.remote)
        done = await self._orders.reload()
        if done.problems:
            code = "unavailable" if done.unavailable else "invalid_configuration"
            sentence = "; ".join(done.problems)
            raise ProblemError(code, sentence, path=request.path, problems=done.problems)
        return json_answer({"changes": list(done.sentences), "at_the_next_start": list(done.later)})


def _is_of_another_site(request: web.Request) -> bool:
    """Return whether a page of another site sends the request; over plain HTTP only `Origin` shows it."""
    if request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
        return True
    origin = request.headers.get(hdrs.ORIGIN)
    return origin is not None and origin.partition("://")[2] != request.host


def _require_operator(request: web.Request, http: HttpConfig) -> None:
    """Accept a request with the operator's token; raises ProblemError for others."""
    try:
        require_token(request, http.tokens.operator)
    except (web.HTTPForbidden, web.HTTPUnauthorized) as refused:
        raise as_problem(refused, path=request.path) from None


def take_turn(
    allowance: Allowance, clock: Clock, request: web.Request, *, said: str = "too many requests"
) -> None:
    """Count a request; raises ProblemError `too_many_requests`."""
    wait_s = math.ceil(allowance.take(clock.monotonic_ns()))
    if wait_s:
        raise ProblemError(
            "too_many_requests",
            f"{said}; try again in {wait_s} s",
            path=request.path,
            headers={hdrs.RETRY_AFTER: str(wait_s)},
        )
