"""JSON Schemas of the API's documents, in short form. Pure.

Objects are closed: a member without a schema fails the tests. Every member is required unless declared
optional; unknown values are null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

Schema = dict[str, Any]


def closed(members: Mapping[str, Schema], *, optional: Collection[str] = (), description: str = "") -> Schema:
    """Return the schema of an object with exactly these members."""
    schema: Schema = {
        "type": "object",
        "properties": dict(members),
        "required": [name for name in members if name not in optional],
        "additionalProperties": False,
    }
    return _described(schema, description)


def mapped(values: Schema, description: str = "") -> Schema:
    """Return the schema of an object with any names and such values."""
    return _described({"type": "object", "additionalProperties": values}, description)


def listed(items: Schema, description: str = "") -> Schema:
    """Return the schema of a list."""
    return _described({"type": "array", "items": items}, description)


def ref(name: str, description: str = "") -> Schema:
    """Return a reference to a schema of the table."""
    return _described({"$ref": f"#/components/schemas/{name}"}, description)


def nullable(schema: Schema) -> Schema:
    """Return the schema of a value or null; the description stays outside."""
    inner = {name: value for name, value in schema.items() if name != "description"}
    kind = inner.get("type")
    if isinstance(kind, str) and "enum" not in inner:
        either: Schema = {**inner, "type": [kind, "null"]}
    else:
        either = {"anyOf": [inner, {"type": "null"}]}
    return _described(either, schema.get("description", ""))


def text(description: str = "") -> Schema:
    """Return the schema of a text."""
    return _described({"type": "string"}, description)


def one_of(values: Iterable[object], description: str = "") -> Schema:
    """Return the schema of one of these texts."""
    return _described({"type": "string", "enum": [str(value) for value in values]}, description)


def moment(description: str = "") -> Schema:
    """Return the schema of a moment: RFC 3339 in UTC with milliseconds."""
    return _described({"type": "string", "format": "date-time"}, description)


def seconds(description: str = "") -> Schema:
    """Return the schema of a duration in seconds."""
    return _described({"type": "number"}, description)


def whole(description: str = "", *, least: int | None = 0) -> Schema:
    """Return the schema of a whole number."""
    bounds = {} if least is None else {"minimum": least}
    return _described({"type": "integer", **bounds}, description)


def share(description: str = "") -> Schema:
    """Return the schema of a share from 0 to 1."""
    return _described({"type": "number", "minimum": 0, "maximum": 1}, description)


def flag(description: str = "") -> Schema:
    """Return the schema of true or false."""
    return _described({"type": "boolean"}, description)


def page(
    name: str,
    items: Schema,
    *,
    before: Mapping[str, Schema] | None = None,
    after: Mapping[str, Schema] | None = None,
) -> Schema:
    """Return the schema of a paged list, with other members of its document."""
    return closed(
        {
            **(before or {}),
            name: listed(items),
            "count": whole("How many items there are in all."),
            "offset": whole("How many of them were skipped."),
            "next": nullable(text("The address of the next page, without the host; null on the last.")),
            **(after or {}),
        }
    )


def _described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description} if description else schema
