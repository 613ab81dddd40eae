"""The operation that shows the API itself."""

from __future__ import annotations

from mirrorwatch.api.operations import Operation

SCHEMAS = {"OpenApi": {"type": "object", "description": "An OpenAPI 3.1 document."}}

GET_OPENAPI = Operation(
    name="get_openapi",
    method="GET",
    path="/api/v1/openapi.json",
    summary="Show this API as an OpenAPI 3.1 document.",
    answers={200: "OpenApi"},
)

OPERATIONS = (GET_OPENAPI,)
