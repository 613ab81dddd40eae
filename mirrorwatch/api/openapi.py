"""The OpenAPI 3.1 document of the API, made from the table of operations. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from mirrorwatch.api.shapes import closed, listed, one_of, ref, text, whole
from mirrorwatch.api.table import OPERATIONS, SCHEMAS
from runtime.http.problems import KINDS, PROBLEM_JSON

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mirrorwatch.api.operations import Operation
    from mirrorwatch.api.shapes import Schema
    from runtime.http.parameters import Parameter

Document = dict[str, Any]

# Problems that any operation may answer.
COMMON_PROBLEMS = (
    "invalid_query",
    "sign_in_required",
    "forbidden",
    "timeout",
    "too_many_requests",
    "unavailable",
    "internal",
)
_WITH_BEARER = ("token_required", "forbidden")

PROBLEM: Schema = closed(
    {
        "type": text("`urn:mirrorwatch:problem:` and the code."),
        "title": text("The meaning of the code; always the same."),
        "status": whole("The HTTP status."),
        "code": one_of(KINDS, "Compare this in scripts: it never changes."),
        "detail": text("What is wrong this time, and what to do."),
        "instance": text("The path of the request."),
        "problems": listed(text(), "All that is wrong with the query or the document, at once."),
        "flow": text("The flow of a posted run that is unknown."),
    },
    optional=("problems", "flow"),
)

_INTRODUCTION = (
    "Moments are RFC 3339 in UTC with milliseconds. Durations are numbers with their unit in the name (`_s`)."
    " A number NAME that may be a bound has a NAME_kind: exact, at_least, at_most, between (with NAME_most),"
    " estimate or none. Flows are written `A->B` in documents and may be written `A:B` in addresses. A list"
    " has `count`, `offset` and `next`, the address of the next page. `fields` chooses the top-level fields"
    " of its items. Unknown parameters are refused. Refusals are problem documents of RFC 9457 with a stable"
    " `code`."
)


def openapi_document(version: str) -> Document:
    """Return the document; `version` is that of the service."""
    paths: defaultdict[str, Document] = defaultdict(dict)
    for operation in OPERATIONS:
        paths[operation.public_path][operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Mirrorwatch", "version": version, "description": _INTRODUCTION},
        "servers": [{"url": "/"}],
        "paths": dict(paths),
        "components": {
            "schemas": {**SCHEMAS, "Problem": PROBLEM},
            "securitySchemes": {
                "user": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "A user of `http.web_config_file`, where it has any.",
                },
                **{
                    name: {
                        "type": "http",
                        "scheme": "bearer",
                        "description": f"The token of `http.tokens.{name}`.",
                    }
                    for name in sorted({one.bearer for one in OPERATIONS if one.bearer is not None})
                },
            },
        },
    }


def problems_of(operation: Operation) -> tuple[str, ...]:
    """Return the problem codes of an operation, by status."""
    codes = {*COMMON_PROBLEMS, *operation.problems, *(_WITH_BEARER if operation.bearer else ())}
    return tuple(sorted(codes, key=lambda code: (KINDS[code].status, code)))


def _operation(operation: Operation) -> Document:
    document: Document = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [
            *(_path_parameter(name, said) for name, said in operation.path_parameters.items()),
            *(_query_parameter(one) for one in operation.parameters),
        ],
        "responses": {
            **{str(status): _answer(name) for status, name in operation.answers.items()},
            **_refusals(problems_of(operation)),
        },
        "security": [{operation.bearer: []}] if operation.bearer else [{}, {"user": []}],
    }
    if operation.description:
        document["description"] = operation.description
    if operation.body is not None:
        content = {"application/json": {"schema": ref(operation.body)}}
        document["requestBody"] = {"required": True, "content": content}
    return document


def _path_parameter(name: str, description: str) -> Document:
    schema = {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "description": description, "schema": schema}


def _query_parameter(one: Parameter) -> Document:
    document: Document = {
        "name": one.name,
        "in": "query",
        "required": one.required,
        "description": one.description,
        "schema": dict(one.schema),
    }
    if one.schema.get("type") == "array":
        document |= {"style": "form", "explode": False}
    return document


def _answer(name: str) -> Document:
    return {"description": name, "content": {"application/json": {"schema": ref(name)}}}


def _refusals(codes: Iterable[str]) -> Document:
    by_status: defaultdict[int, list[str]] = defaultdict(list)
    for code in codes:
        by_status[KINDS[code].status].append(code)
    return {
        str(status): {
            "description": "; ".join(f"`{code}`: {KINDS[code].title}" for code in found),
            "content": {
                PROBLEM_JSON: {
                    "schema": {
                        "allOf": [ref("Problem"), {"properties": {"code": {"enum": found}}}],
                    }
                }
            },
        }
        for status, found in by_status.items()
    }
