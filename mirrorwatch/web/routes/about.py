"""The route of the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mirrorwatch.api.about import GET_OPENAPI
from mirrorwatch.api.openapi import openapi_document
from mirrorwatch.api.operations import route
from mirrorwatch.web.routes.main import json_answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp import web


def about_routes(version: str) -> list[web.RouteDef]:
    """Return the routes; `version` is that of the service."""
    document = openapi_document(version)

    async def show(_request: web.Request, _asked: Mapping[str, Any]) -> web.Response:
        return json_answer(document)

    return [route(GET_OPENAPI, show)]
