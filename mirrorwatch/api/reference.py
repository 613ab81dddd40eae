"""The reference of the API as a page of docs, made of the table of operations.

`python -m mirrorwatch.api.reference > docs/reference/api.md`
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from mirrorwatch.api.openapi import PROBLEM, openapi_document, problems_of
from mirrorwatch.api.table import OPERATIONS, SCHEMAS
from runtime.http.problems import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mirrorwatch.api.operations import Operation


_MOST_LISTED = 30
_TYPES = {"integer": "whole number", "boolean": "true or false", "string": "text"}


def reference() -> str:
    """Return the page as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# API reference"
    yield ""
    yield "This page is generated: `python -m mirrorwatch.api.reference > docs/reference/api.md`."
    yield "A running service serves the same as an OpenAPI 3.1 document at `/api/v1/openapi.json`."
    yield "Burrow's API under `/v3/kafka` is described in [burrow.md](burrow.md)."
    yield ""
    yield from _wrapped(str(openapi_document("")["info"]["description"]))
    yield ""
    yield "- [Operations](#operations)"
    yield "- [Problems](#problems)"
    yield "- [Documents](#documents)"
    yield ""
    yield "## Operations"
    for operation in OPERATIONS:
        yield ""
        yield from _operation(operation)
    yield ""
    yield "## Problems"
    yield ""
    yield "A refusal is `application/problem+json`:"
    yield ""
    yield from _members(PROBLEM)
    yield ""
    yield "| code | status | title |"
    yield "|---|---|---|"
    for code, kind in KINDS.items():
        yield f"| `{code}` | {kind.status} | {kind.title} |"
    yield ""
    yield "## Documents"
    for name, schema in SCHEMAS.items():
        yield ""
        yield f"### {name}"
        yield ""
        if schema.get("description"):
            yield str(schema["description"])
            yield ""
        yield from _members(schema)


def _operation(operation: Operation) -> Iterator[str]:
    yield f"### {operation.method} {operation.public_path}"
    yield ""
    yield operation.summary
    if operation.description:
        yield operation.description
    if operation.bearer:
        yield f"It requires the token of `http.tokens.{operation.bearer}` (`Authorization: Bearer TOKEN`)."
    yield ""
    if operation.path_parameters or operation.parameters:
        yield "| parameter | in | value | meaning |"
        yield "|---|---|---|---|"
        for name, said in operation.path_parameters.items():
            yield f"| `{name}` | path | text | {said} |"
        for one in operation.parameters:
            needed = " Required." if one.required else ""
            yield f"| `{one.name}` | query | {_value(one.schema)} | {one.description}{needed} |"
        yield ""
    answers = ", ".join(f"{status} {_link(name)}" for status, name in operation.answers.items())
    body = f"Body: {_link(operation.body)}. " if operation.body else ""
    yield f"{body}Answers: {answers}. Problems: {', '.join(f'`{code}`' for code in problems_of(operation))}."


def _members(schema: Mapping[str, Any]) -> Iterator[str]:
    if "properties" not in schema:
        yield f"{_value(schema)}"
        return
    yield "| field | value | meaning |"
    yield "|---|---|---|"
    yield from _rows(schema, "")


def _rows(schema: Mapping[str, Any], before: str) -> Iterator[str]:
    for name, member in schema["properties"].items():
        yield f"| `{before}{name}` | {_value(member)} | {member.get('description', '')} |"
        inner, path = member, f"{before}{name}"
        if inner.get("type") == "array":
            inner, path = inner["items"], f"{path}[]"
        if "properties" in inner:
            yield from _rows(inner, f"{path}.")


def _value(schema: Mapping[str, Any]) -> str:
    """Write the values that a schema allows."""
    if "$ref" in schema:
        return _link(schema["$ref"].rsplit("/", 1)[-1])
    if "anyOf" in schema:
        return " or ".join(_value(one) for one in schema["anyOf"])
    if "enum" in schema:
        return _one_of(schema["enum"])
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return f"{_value({**schema, 'type': kind[0]})} or null"
    return _of_type(str(kind), schema)


def _of_type(kind: str, schema: Mapping[str, Any]) -> str:
    match kind:
        case "array":
            return f"list of {_value(schema['items'])}"
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return f"map of {_value(schema['additionalProperties'])}"
        case "integer" if "maximum" in schema:
            default = f", {schema['default']} by default" if "default" in schema else ""
            return f"{schema['minimum']} to {schema['maximum']}{default}"
        case "string" if schema.get("format") == "date-time":
            return "moment"
        case _:
            return _TYPES.get(kind, kind)


def _one_of(values: Sequence[str]) -> str:
    if len(values) > _MOST_LISTED:
        return f"text, one of {len(values)}"
    return ", ".join(f"`{value}`" for value in values)


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _wrapped(text: str) -> Iterator[str]:
    """Yield the sentences of a text."""
    sentences = text.split(". ")
    for number, one in enumerate(sentences):
        yield one if number == len(sentences) - 1 else f"{one}."


if __name__ == "__main__":
    sys.stdout.write(reference())
