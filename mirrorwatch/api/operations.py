"""An operation of the API and its route, which reads the query before the handler.

Each operation is declared once, with the schemas of its documents. Only `route` registers a path under
/api/v1.
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

    # A handler gets the request and the values of the parameters.
    Handler = Callable[[web.Request, Mapping[str, Any]], Awaitable[web.StreamResponse]]

_PLACEHOLDER = re.compile(r"\{(\w+):(?:[^{}]|\{[^{}]*\})*\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path.

    `path` is the router's pattern; `path_parameters` describes its names. `answers` has the name of the
    schema by status. `problems` are the codes besides those of all operations. `bearer` is the required token
    of `http.tokens`.
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
    """Return the route of an operation; unknown or invalid parameters never reach the handler.

    A handler may raise UnavailableError if the operation lists `unavailable` in its problems.
    """

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request, asked_of(request, operation.parameters))
        except UnavailableError as error:
            raise ProblemError("unavailable", str(error), path=request.path) from error

    if operation.method == "GET":
        return web.get(operation.path, answer)
    return web.route(operation.method, operation.path, answer)
