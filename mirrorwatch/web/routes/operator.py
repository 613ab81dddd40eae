"""Routes that change the service: reload its configuration, resume a canary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from aiohttp import hdrs, web

from fleet.dialect import moment_text
from fleet.errors import UnavailableError
from mirrorwatch.api.operations import route
from mirrorwatch.api.operator import RESUME_CANARY
from mirrorwatch.web.routes.main import json_answer, known_flow
from runtime.http.audit import OBJECT
from runtime.http.problems import KINDS, ProblemError, as_problem
from runtime.http.users import require_token
from runtime.process import logs
from runtime.process.allowance import Allowance

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from canary.persistence.latches import Latch
    from mirrorwatch.configuration.reloading import Reloaded
    from mirrorwatch.service.view import ServiceView
    from runtime.config.sections import HttpConfig
    from runtime.process.clock import Clock

RESUMES_PER_MINUTE = 10
RELOADS_PER_MINUTE = 10
RELOAD_PATH = "/-/reload"


@dataclass(frozen=True, slots=True)
class ShardReload:
    """The answer of another shard's replica to a reload; with problems it keeps its configuration."""

    shard: str  # `shard 2 of 3`
    changes: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    code: str = ""  # of the problems


async def _no_others() -> Sequence[ShardReload]:
    return ()


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


def operator_routes(
    orders: Orders,
    *,
    clock: Clock,
    reload_others: Callable[[], Awaitable[Sequence[ShardReload]]] = _no_others,
) -> list[web.RouteDef]:
    """Return the routes; each request uses the present http.tokens and http.reload.

    `reload_others` reloads the replicas of all other shards.
    """
    desk = _Desk(orders, clock, reload_others)
    return [
        route(RESUME_CANARY, desk.resume),
        web.post(RELOAD_PATH, desk.reload),
    ]


class _Desk:
    """Checks the token and the rate of a request first."""

    def __init__(
        self,
        orders: Orders,
        clock: Clock,
        reload_others: Callable[[], Awaitable[Sequence[ShardReload]]],
    ) -> None:
        self._orders = orders
        self._clock = clock
        self._reload_others = reload_others
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
        others = await self._reload_others()  # not before: an invalid file must change no replica
        _require_all(request, others)
        changes = dict.fromkeys([*done.sentences, *(one for each in others for one in each.changes)])
        later = dict.fromkeys([*done.later, *(one for each in others for one in each.later)])
        return json_answer({"changes": list(changes), "at_the_next_start": list(later)})


def _require_all(request: web.Request, others: Sequence[ShardReload]) -> None:
    """Raise ProblemError with what is wrong at other shards."""
    failed = [one for one in others if one.problems]
    if failed:
        problems = [f"{one.shard}: {each}" for one in failed for each in one.problems]
        invalid = next((one for one in failed if one.code == "invalid_configuration"), failed[0])
        code = invalid.code if invalid.code in KINDS else "unavailable"
        sentence = f"{'; '.join(problems)}; the other shards use the new configuration"
        raise ProblemError(code, sentence, path=request.path, problems=problems)


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
