"""What an operation of the API is, and how its route is registered: its query is read before its handler.

Each operation is declared once, beside the schemas of its documents. `route` takes an operation and a
handler; nothing else registers a path under /api/v1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web

from fleet.errors import UnavailableError
from runtime.http.parameters import asked_of
from runtime.http.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from runtime.http.parameters import Parameter

    # A handler is given the request and the values of the operation's parameters.
    Handler = Callable[[web.Request, Mapping[str, Any]], Awaitable[web.StreamResponse]]

_PLACEHOLDER = re.compile(r"\{(\w+):(?:[^{}]|\{[^{}]*\})*\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path.

    `path` is the router's pattern; `path_parameters` describes each of its names. `answers` gives the name of
    the schema by status. `problems` are the codes that it may refuse with, besides those of all operations.
    `bearer` is the token of `http.tokens` that it asks for.
    """

    name: str
    method: str
    path: str
    summary: str
    answers: Mapping[int, str] = field(hash=False)
    path_parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    parameters: tuple[Parameter, ...] = ()
    problems: tuple[str, ...] = ()
    body: str | None = None
    bearer: str | None = None
    description: str = ""

    @property
    def public_path(self) -> str:
        """Return the path as OpenAPI writes it: `/api/v1/flows/{flow}`."""
        return _PLACEHOLDER.sub(r"{\1}", self.path)


def route(operation: Operation, handler: Handler) -> web.RouteDef:
    """Return the route of an operation; an unknown or invalid parameter never reaches the handler.

    A handler may raise UnavailableError: the operation lists `unavailable` among its problems then.
    """

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request, asked_of(request, operation.parameters))
        except UnavailableError as error:
            raise ProblemError("unavailable", str(error), path=request.path) from error

    if operation.method == "GET":
        return web.get(operation.path, answer)
    return web.route(operation.method, operation.path, answer)
