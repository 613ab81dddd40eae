"""Routes of checksums: POST of runs, each run as JSON, and its page.

Posting requires the token `http.tokens.audit`. The body is one run or a file of `--json`. It is checked as a
whole before anything is stored, and all problems are reported at once.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

from aiohttp import hdrs, web

from checksum.history.documents import packed_run
from fleet.errors import MalformedError, UnavailableError
from mirrorwatch.api.checksums import GET_CHECKSUM, POST_CHECKSUMS
from mirrorwatch.api.operations import route
from mirrorwatch.audits.run_document import MOST_BYTES, RUN_ID, InvalidRunError, read_runs
from mirrorwatch.web.routes.main import SECURITY_HEADERS, json_answer
from mirrorwatch.web.routes.operator import take_turn
from runtime.http.audit import OBJECT
from runtime.http.guards import API
from runtime.http.problems import ProblemError
from runtime.http.users import require_token
from runtime.process import logs
from runtime.process.allowance import Allowance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from checksum.history.entries import PackedRun
    from mirrorwatch.audits.run_document import RunDocument
    from runtime.config.sections import HttpConfig
    from runtime.process.clock import Clock

TOLD_PER_MINUTE = 120

_STYLE = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)


class Runs(Protocol):
    """Stores runs; see `ChecksumFollowing`."""

    def knows(self, flow: str) -> bool:
        """Return whether there is such a flow."""
        ...

    async def take(self, told: RunDocument, packed: PackedRun) -> bool:
        """Store a run; False if it was stored before. Raises UnavailableError."""
        ...

    async def settle(self) -> None:
        """Update what shows the stored runs."""
        ...

    async def document(self, run: str) -> dict[str, Any] | None:
        """Return a run's document; None if unknown. Raises UnavailableError and MalformedError."""
        ...


def checksum_routes(
    runs: Runs,
    http: Callable[[], HttpConfig],
    *,
    render: Callable[[Mapping[str, Any]], str],
    clock: Clock,
    elsewhere: Callable[[str], bool] = lambda _flow: False,
) -> list[web.RouteDef]:
    """Return the routes; `render` renders a run's page. Each request reads the present http.tokens.audit.

    `elsewhere`: another shard has this flow. Its runs are stored too, and it finds them in the store.
    """
    desk = _Desk(runs, http, render, clock, elsewhere)
    return [
        route(POST_CHECKSUMS, desk.take),
        route(GET_CHECKSUM, desk.show_document),
        web.get(f"/checksums/{{run:{RUN_ID}}}", desk.show_page),
    ]


@dataclass(frozen=True, slots=True)
class _Read:
    """A run and its stored form; `place` is its position in a file, "" for a single run."""

    place: str
    run: RunDocument
    packed: PackedRun


class _Desk:
    """Checks token, rate and size of a request before reading it."""

    def __init__(
        self,
        runs: Runs,
        http: Callable[[], HttpConfig],
        render: Callable[[Mapping[str, Any]], str],
        clock: Clock,
        elsewhere: Callable[[str], bool],
    ) -> None:
        self._runs = runs
        self._elsewhere = elsewhere
        self._http = http
        self._render = render
        self._clock = clock
        self._log = logs.get("checksums")
        self._told = Allowance(TOLD_PER_MINUTE, per_s=60.0)
        self._turn = asyncio.Lock()

    async def take(self, request: web.Request, _asked: Mapping[str, Any]) -> web.Response:
        require_token(request, self._http().tokens.audit, name="audit")
        take_turn(self._told, self._clock, request, said="too many runs posted")
        body = await _body(request)
        try:
            told = await asyncio.to_thread(_read, body)
        except InvalidRunError as error:
            sentence = f"the document: invalid checksum run; {error}"
            raise ProblemError(
                "invalid_document", sentence, path=request.path, problems=error.problems
            ) from error
        request[OBJECT] = ", ".join(f"{one.run.run} of {one.run.flow}" for one in told)
        flows = {one.run.flow for one in told}
        known = {flow for flow in flows if self._runs.knows(flow) or self._elsewhere(flow)}
        unknown = [one for one in told if one.run.flow not in known]
        if unknown:
            problems = [f"{one.place}unknown flow '{one.run.flow}'" for one in unknown]
            raise ProblemError(
                "unknown_flow",
                problems[0],
                path=request.path,
                problems=problems,
                flow=unknown[0].run.flow,
            )
        answers: list[dict[str, Any]] = []
        failure: UnavailableError | None = None
        for one in told:
            try:
                answers.append(await self._keep(one, by=request.remote))
            except UnavailableError as error:
                failure = error
                break
        await self._runs.settle()
        if failure is not None:
            kept = f"{len(answers)} of {len(told)} runs are stored" if answers else "no run is stored"
            raise ProblemError("unavailable", f"{kept}: {failure}", path=request.path) from failure
        status = HTTPStatus.CREATED if any(one["new"] for one in answers) else HTTPStatus.OK
        return json_answer({"runs": answers}, status=status)

    async def _keep(self, told: _Read, *, by: str | None) -> dict[str, Any]:
        """Store a run and return the answer; raises UnavailableError."""
        run, flow = told.run.run, told.run.flow
        new = await self._runs.take(told.run, told.packed)
        page = f"/checksums/{run}"
        if new:
            self._log.info("checksum run received", flow=flow, run=run, by=by)
        sentence = f"stored; see {page}" if new else f"already stored; see {page}"
        return {"run": run, "flow": flow, "new": new, "page": page, "sentence": sentence}

    async def show_document(self, request: web.Request, _asked: Mapping[str, Any]) -> web.Response:
        document = await self._document(request)
        return await asyncio.to_thread(json_answer, document)

    async def show_page(self, request: web.Request) -> web.Response:
        async with self._turn:  # a large page takes a second, so render one at a time
            document = await self._document(request)
            # As the only run of a list, so that unknown keys of the document have no effect.
            alone = {"status": document.get("status"), "runs": [document]}
            text = await asyncio.to_thread(self._render, alone)
        policy = {"Content-Security-Policy": _policy(text), "Cache-Control": "no-store"}
        response = web.Response(
            text=text,
            content_type="text/html",
            headers={**SECURITY_HEADERS, **policy},
        )
        response.enable_compression()
        return response

    async def _document(self, request: web.Request) -> dict[str, Any]:
        run = request.match_info["run"]
        try:
            document = await self._runs.document(run)
        except UnavailableError as error:
            raise _no_document(request, "unavailable", f"the run cannot be read: {error}") from error
        except MalformedError as error:
            raise _no_document(request, "unavailable", str(error)) from error
        if document is None:
            sentence = f"unknown checksum run '{run}'; old runs are deleted"
            raise _no_document(request, "unknown_run", sentence)
        return document


def _no_document(request: web.Request, code: str, sentence: str) -> web.HTTPException:
    """Return why there is no document of a run: a problem under /api/, text on a page."""
    if request.path.startswith(API):
        return ProblemError(code, sentence, path=request.path)
    if code == "unknown_run":
        return web.HTTPNotFound(text=sentence)
    return web.HTTPServiceUnavailable(text=sentence)


async def _body(request: web.Request) -> bytes:
    """Return a body of bounded size; raises HTTPRequestEntityTooLarge, or 415 for an encoded body."""
    if request.headers.get(hdrs.CONTENT_ENCODING, "identity").lower() != "identity":
        raise web.HTTPUnsupportedMediaType(text="Content-Encoding: invalid; send the run as plain JSON.")
    body = bytearray()
    size = request.content_length or 0
    if size <= MOST_BYTES:
        async for piece in request.content.iter_chunked(2**16):
            body += piece
            size = len(body)
            if size > MOST_BYTES:
                break
    if size > MOST_BYTES:
        raise web.HTTPRequestEntityTooLarge(
            MOST_BYTES,
            size,
            text=(
                f"the document: larger than {MOST_BYTES // 2**20} MiB; post the runs of a file one by one, or"
                " use --post, which shortens long lists."
            ),
        )
    return bytes(body)


def _read(body: bytes) -> list[_Read]:
    """Return the runs in a document; raises InvalidRunError."""
    try:
        # A function for each object lets other threads run; a single call would block them.
        document = json.loads(body, object_pairs_hook=_object, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        told = error.args[0] if isinstance(error, _TwiceError) else "not JSON"
        raise InvalidRunError([str(told)]) from error
    found, problems = [], []
    for one in read_runs(document):
        try:
            found.append(_Read(one.place, one.run, packed_run(one.document)))
        except MalformedError as error:
            problems.append(f"{one.place}{error}")
    if problems:
        raise InvalidRunError(problems)
    return found


class _TwiceError(ValueError):
    """An object with the same key twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _TwiceError("an object has the same key twice")
    return found


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _policy(page: str) -> str:
    """Return the content policy of a page with an inline style: only the hash of the style."""
    hashes = [
        base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in _STYLE.findall(page)
    ]
    styles = " ".join(f"'sha256-{one}'" for one in hashes) or "'none'"
    return (
        f"default-src 'none'; style-src {styles}; img-src data:; frame-ancestors 'none'; base-uri 'none';"
        " form-action 'none'"
    )
