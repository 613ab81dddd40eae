"""Answers for all shards of a group: what one replica passes on to others, and what others ask of it.

A request about one flow goes to the replica of its shard. One group or one checksum run is searched at all
replicas, the own first. Lists and the view of all flows are gathered by `web/replicas`.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from aiohttp import hdrs, web

from fleet.dialect import flow_name, unknown_name
from fleet.errors import UnavailableError
from mirrorwatch.api.operator import RESUME_CANARY
from mirrorwatch.web.replicas import questions, whole_view
from mirrorwatch.web.replicas.forwarding import PART, Forwarder
from mirrorwatch.web.replicas.gathering import WITHIN_S, Gathering
from mirrorwatch.web.replicas.merged_lists import lists_consumers, names_consumer
from mirrorwatch.web.replicas.peers import part_text, shard_text
from mirrorwatch.web.routes.lag import without_answer
from mirrorwatch.web.routes.main import page_answer
from mirrorwatch.web.routes.operator import RELOAD_PATH, ShardReload
from runtime.http.guards import API
from runtime.http.parameters import asked_of, choice, text, whole
from runtime.http.problems import KINDS, ProblemError
from runtime.process import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from ssl import SSLContext

    from aiohttp.typedefs import Handler, Middleware

    from mirrorwatch.service.view import MissingShard, ServiceView
    from mirrorwatch.web.pages.page import Page
    from mirrorwatch.web.replicas.forwarding import Fetched
    from mirrorwatch.web.replicas.peers import Peers
    from mirrorwatch.web.replicas.questions import Asked
    from runtime.process.clock import Clock

SEARCH_WITHIN_S = 5.0  # a group may have 10,000 partitions
ORDER_WITHIN_S = 20.0  # less than the limit of a whole request
_READS = (hdrs.METH_GET, hdrs.METH_HEAD)
_FINAL = frozenset({"lag_off", "unknown_cluster"})  # codes that are the same at every replica
_QUESTION = (
    choice("of", "What is asked.", (questions.LAG, questions.FAILOVER), default=questions.LAG),
    choice("question", "The question.", ("groups", "group_counts", "burrow"), default="groups"),
    whole("first", "The first row.", least=0, most=0, default=0),
    whole("most", "The most rows.", least=1, most=questions.MOST_ROWS, default=1),
    text("search", "A part of the names."),
    text("kafka_cluster", "A cluster."),
    text("flow", "A flow.", most=700),
    text("path", "A path of Burrow's lists of consumers.", most=4_000),
)
_GROUPS = ("first", "most", "search")
# By what is asked and question: the details that belong to it.
_DETAILS: Mapping[tuple[str, str], tuple[str, ...]] = {
    (questions.LAG, "groups"): (*_GROUPS, "kafka_cluster"),
    (questions.LAG, "group_counts"): (),
    (questions.LAG, "burrow"): ("path",),
    (questions.FAILOVER, "groups"): (*_GROUPS, "flow"),
}


class Replicas:
    """The other replicas of the group, for the routes; `peers` has one shard if there are none.

    `works`: this replica watches its shard. `tls` returns the TLS context of requests to others.
    """

    def __init__(
        self,
        peers: Peers,
        *,
        clock: Clock,
        works: Callable[[], bool] = lambda: True,
        tls: Callable[[], SSLContext | bool] = lambda: True,
    ) -> None:
        self._peers = peers
        self._clock = clock
        self._works = works
        self._log = logs.get("replicas")
        self.forwarder = Forwarder(peers.replica, tls=tls)
        self._gathering = Gathering(peers, self.forwarder, clock=clock)
        self._view = whole_view.WholeView(self._gathering, clock=clock)

    async def close(self, _app: web.Application | None = None) -> None:
        """End what is under way; a signal for on_cleanup."""
        await self._view.close()
        await self.forwarder.close()

    async def complete(self, view: ServiceView) -> ServiceView:
        """Return a view with what the other shards have."""
        return await self._view.complete(view)

    def lag_monitor(self, own: Asked) -> Asked:
        """Return a lag monitor that answers for all shards."""
        return questions.LagEverywhere(self._gathering, own)

    def failover_audit(self, own: Asked) -> Asked:
        """Return a failover audit that answers for all shards."""
        return questions.FailoverEverywhere(self._gathering, own)

    def knows(self, flow: str) -> bool:
        """Return whether another shard has this flow."""
        return self._peers.count > 1 and self._peers.number_of(flow) is not None

    # --- what is passed on

    def middleware(self, page: Page, *, groups_on: Callable[[], bool] = lambda: True) -> Middleware:
        """Return the middleware that passes requests on; `groups_on`: consumer groups are watched."""

        @web.middleware
        async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
            mine, part = self._peers.shard, request.headers.get(PART)
            if part is not None and (mine is None or part != part_text(mine)):
                raise web.HTTPServiceUnavailable(text=f"this replica does not watch shard {part[:20]}\n")
            if part is not None or self._peers.count == 1 or mine is None or not self._works():
                return await handler(request)
            with self._gathering.for_client(_credentials_of(request)):
                names, path = request.match_info, request.rel_url.raw_path
                if "flow" in names:
                    return await self._of_flow(request, handler, page)
                of_group = ("group" in names or names_consumer(path)) and groups_on()
                if request.method in _READS and (of_group or "run" in names):
                    return await self._searched(request, handler, page)
                return await handler(request)

        return middleware

    async def _of_flow(self, request: web.Request, handler: Handler, page: Page) -> web.StreamResponse:
        """Answer a request about one flow as the replica of its shard does."""
        mine, called = self._gathering.mine, request.match_info["flow"]
        name, number = self._number_of(called)
        if number is None:
            sentence = unknown_name("flow", called, self._gathering.flows())
            return self._refusal(request, "unknown_flow", sentence, page)
        try:
            if mine is not None and number == mine.number:
                response = await handler(request)
            elif request.method in _READS:
                url, part = self._gathering.url(number), self._gathering.part(number)
                response = await self.forwarder.forward(request, url, part=part)
            else:
                response = (await self._passed_on(request, number, within_s=ORDER_WITHIN_S)).response()
        except UnavailableError as error:
            sentence = f"flow {name} ({shard_text(number, self._peers.count)}): {error}"
            return self._refusal(request, "unavailable", sentence, page)
        if request.method not in _READS and response.status == HTTPStatus.OK:
            await self._resume_others(name, number)
        return response

    def _number_of(self, called: str) -> tuple[str, int | None]:
        """Return the flow `A->B`, also if it is called `A:B`, and the number of its shard."""
        name = flow_name(called)
        number = self._peers.number_of(name)
        if number is None:  # the name of a cluster may have a colon
            name = next((one for one in self._gathering.flows() if one.replace("->", ":") == called), name)
            number = self._peers.number_of(name)
        return name, number

    async def _passed_on(self, request: web.Request, number: int, *, within_s: float) -> Fetched:
        """Return the whole answer of a shard's replica to a request without a body."""
        return await self._gathering.fetch(
            number, request.raw_path, within_s=within_s, method=request.method, headers=request.headers
        )

    async def _resume_others(self, flow: str, done: int) -> None:
        """Lift the latch for flows of other shards from the same source.

        They would read from the store within seconds that it is lifted, but keep the findings of the loop.
        """
        source = flow.partition("->")[0]
        flows = {
            number: next((one for one in self._peers.flows_of(number) if one.startswith(f"{source}->")), "")
            for number in range(1, self._peers.count + 1)
            if number != done
        }

        async def resume(number: int) -> Fetched:
            path = RESUME_CANARY.public_path.replace("{flow}", quote(flows[number], safe=""))
            return await self._gathering.fetch(number, path, within_s=WITHIN_S, method=hdrs.METH_POST)

        found, missing = await self._gathering.from_each(resume, [one for one in flows if flows[one]])
        failed = {
            shard_text(one, self._peers.count): f"HTTP status {found[one].status}"
            for one in found
            if found[one].status not in (HTTPStatus.OK, HTTPStatus.CONFLICT)
        }
        for shard, reason in (failed | {one.shard: one.reason for one in missing}).items():
            self._log.warning("latch not lifted by another shard", shard=shard, reason=reason, source=source)

    async def _searched(self, request: web.Request, handler: Handler, page: Page) -> web.StreamResponse:
        """Answer as the first replica does that knows what is asked for, the own one first."""
        refusal: web.HTTPException | None = None
        own: web.StreamResponse | None = None
        try:
            own = await handler(request)
            status, code = own.status, ""
        except web.HTTPException as error:
            refusal, status, code = error, error.status, getattr(error, "code", "")
        if status in (HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE) and code not in _FINAL:
            found, missing = await self._first_found(request)
            if found is not None:
                return found.response()
            if missing and status == HTTPStatus.NOT_FOUND:
                reasons = "; ".join(f"{one.shard}: {one.reason}" for one in missing)
                sentence = f"not found on the shards that answer, and not all do: {reasons}"
                return self._refusal(request, "unavailable", sentence, page)
        if refusal is not None:
            raise refusal
        assert own is not None
        return own

    async def _first_found(self, request: web.Request) -> tuple[Fetched | None, list[MissingShard]]:
        """Pass a request on to all others; return the first answer that is no refusal, else who failed."""

        async def ask(number: int) -> Fetched:
            found = await self._passed_on(request, number, within_s=SEARCH_WITHIN_S)
            if found.status >= HTTPStatus.BAD_REQUEST and found.status != HTTPStatus.NOT_FOUND:
                raise UnavailableError(f"its replica answers with HTTP status {found.status}")
            return found

        asking = [
            asyncio.create_task(self._gathering.from_each(ask, [number]))
            for number in self._gathering.others()
        ]
        failed: list[MissingShard] = []
        try:
            for one in asyncio.as_completed(asking):
                found, missing = await one
                failed += missing
                for answer in found.values():
                    if answer.status != HTTPStatus.NOT_FOUND:
                        return answer, []
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
        return None, sorted(failed, key=lambda one: one.shard)

    def _refusal(self, request: web.Request, code: str, sentence: str, page: Page) -> web.Response:
        """Return why there is no answer, in the form of the path; raises ProblemError under /api/."""
        if request.path.startswith(API):
            raise ProblemError(code, sentence, path=request.path)
        sentence = f"{sentence[:1].upper()}{sentence[1:]}."
        if names_consumer(request.rel_url.raw_path):
            return without_answer(request, sentence, web.HTTPServiceUnavailable)
        of_groups = request.path.startswith("/groups/")
        drawn = page.away(sentence, now_at=self._clock.wall_s(), of_groups=of_groups)
        return page_answer(drawn, status=KINDS[code].status)

    async def reload(self) -> list[ShardReload]:
        """Have the replicas of all other shards read their configuration again."""
        if self._gathering.mine is None:
            return []

        async def reload(number: int) -> Fetched:
            return await self._gathering.fetch(
                number, RELOAD_PATH, within_s=ORDER_WITHIN_S, method=hdrs.METH_POST
            )

        # A shard without a replica has nothing to reload: the next one reads the file when it starts.
        numbers = [number for number in self._gathering.others() if self._peers.url(number)]
        found, missing = await self._gathering.from_each(reload, numbers)
        return [
            *(_reload_of(shard_text(number, self._peers.count), one) for number, one in found.items()),
            *(ShardReload(one.shard, problems=(one.reason,), code="unavailable") for one in missing),
        ]

    # --- what other replicas ask

    def routes(self, view: Callable[[], ServiceView], *, lagging: Asked, audit: Asked) -> list[web.RouteDef]:
        """Return the routes for other replicas, which answer for the own shard; `view` is the own view."""

        async def show_view(request: web.Request) -> web.Response:
            _require_part(request)
            own = view()
            body = await asyncio.to_thread(lambda: b"".join(self._view.codec.lines(own)))
            return web.Response(body=body, content_type="application/jsonl")

        async def answer(request: web.Request) -> web.Response:
            _require_part(request)
            asked = asked_of(request, _QUESTION)
            of, question = asked["of"], asked["question"]
            names = _DETAILS.get((of, question))
            if names is None or (question == "burrow" and not lists_consumers(asked["path"])):
                raise web.HTTPBadRequest(text="Other replicas ask no such question.\n")
            process = lagging if of == questions.LAG else audit
            if not process.on:
                raise web.HTTPServiceUnavailable(text=f"{of} is off\n")
            details: dict[str, Any] = {name: asked[name] for name in names}
            if of == questions.FAILOVER:
                details |= questions.WHOLE_ITEMS
            try:
                found = await process.ask(question, **details)
            except UnavailableError as error:
                raise web.HTTPServiceUnavailable(text=f"{error}\n") from error
            return web.Response(body=questions.written_answer(found), content_type="application/octet-stream")

        return [web.get(whole_view.PATH, show_view), web.get(questions.PATH, answer)]


def _credentials_of(request: web.Request) -> dict[str, str]:
    """Return the header by which every replica knows the user or the token."""
    given = request.headers.get(hdrs.AUTHORIZATION)
    return {} if given is None else {"Authorization": given}


def _require_part(request: web.Request) -> None:
    """Refuse what no replica asks: these answers are incomplete."""
    if PART not in request.headers:
        raise web.HTTPNotFound


def _reload_of(shard: str, found: Fetched) -> ShardReload:
    """Return what a replica answers to a reload."""
    try:
        document = json.loads(found.body)
        if found.status == HTTPStatus.OK:
            return ShardReload(shard, tuple(document["changes"]), tuple(document["at_the_next_start"]))
        problems = tuple(document.get("problems", ())) or (document["detail"],)
        return ShardReload(shard, problems=problems, code=document["code"])
    except (AttributeError, KeyError, TypeError, ValueError):
        sentence = f"its replica answers with HTTP status {found.status}; read its log"
        return ShardReload(shard, problems=(sentence,), code="unavailable")
