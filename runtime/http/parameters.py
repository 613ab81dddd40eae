"""Query parameters, declared once: parsed with all problems at once, and described for OpenAPI.

An unknown parameter is refused with the nearest known one, and so is a repeated one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from fleet.dialect import moment_ms, unknown_name, unknown_names
from runtime.http.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from aiohttp import web

MAX_OFFSET = 10**9
MAX_TEXT = 256  # letters
_MAX_FIELDS = 4096  # letters of the list


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter; `read` raises ValueError with what it must be."""

    name: str
    description: str
    read: Callable[[str], Any]
    schema: Mapping[str, Any] = field(hash=False)
    default: Any = None
    required: bool = False


def whole(name: str, description: str, *, least: int, most: int, default: int) -> Parameter:
    """Return a parameter that is a whole number within bounds."""
    return Parameter(
        name=name,
        description=description,
        read=partial(_whole, least=least, most=most),
        schema={"type": "integer", "minimum": least, "maximum": most, "default": default},
        default=default,
    )


def text(name: str, description: str, *, most: int = MAX_TEXT) -> Parameter:
    """Return a parameter that is any text of at most so many letters, empty without it."""
    return Parameter(
        name=name,
        description=description,
        read=partial(_text, most=most),
        schema={"type": "string", "maxLength": most},
        default="",
    )


def choice(name: str, description: str, values: Collection[str], *, default: str) -> Parameter:
    """Return a parameter that is one of these values."""
    return Parameter(
        name=name,
        description=description,
        read=partial(_choice, values=tuple(values)),
        schema={"type": "string", "enum": list(values), "default": default},
        default=default,
    )


def moment(name: str, description: str) -> Parameter:
    """Return a parameter that is an RFC 3339 instant; its value is epoch milliseconds."""
    return Parameter(
        name=name,
        description=description,
        read=_moment,
        schema={"type": "string", "format": "date-time"},
    )


def fields(names: Iterable[str]) -> Parameter:
    """Return the parameter that chooses the top-level fields of items, by their names."""
    known = tuple(names)
    return Parameter(
        name="fields",
        description="The top-level fields that each item is to have, separated by commas. All without it.",
        read=partial(_fields, known=known),
        schema={"type": "array", "items": {"type": "string", "enum": list(known)}, "minItems": 1},
    )


def paging(*, default: int, most: int) -> tuple[Parameter, Parameter]:
    """Return `limit` and `offset`, by which a list is read a page at a time."""
    return (
        whole("limit", "How many items to return at most.", least=1, most=most, default=default),
        whole("offset", "How many items to skip.", least=0, most=MAX_OFFSET, default=0),
    )


def asked_of(request: web.Request, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return the value of each parameter, or its default.

    Raises ProblemError `invalid_query` with everything that is wrong with the query.
    """
    known = {one.name: one for one in parameters}
    values: dict[str, Any] = {one.name: one.default for one in parameters}
    problems = unknown_names("parameter", request.query, known)
    for name, parameter in known.items():
        given = request.query.getall(name, ())
        if not given:
            continue
        if len(given) > 1:
            problems.append(f"{name}: given {len(given)} times; give it once")
        else:
            try:
                values[name] = parameter.read(given[0])
            except ValueError as error:
                problems.append(f"{name}: {error}")
    problems += [
        f"{one.name}: missing; {one.description[:1].lower()}{one.description[1:].rstrip('.')}"
        for one in parameters
        if one.required and one.name not in request.query
    ]
    if problems:
        raise ProblemError("invalid_query", "; ".join(problems), path=request.path, problems=problems)
    return values


def list_address(request: web.Request, **more: str) -> str:
    """Return the address of a list with its query and these parameters, without `offset`."""
    return str(request.rel_url.without_query_params("offset").update_query(more))


def _shown(value: str) -> str:
    return f"'{value[:100]}'"


def _whole(given: str, *, least: int, most: int) -> int:
    if re.fullmatch(r"[0-9]{1,18}", given) is None or not least <= int(given) <= most:
        raise ValueError(f"invalid value {_shown(given)}; write a whole number from {least:,} to {most:,}")
    return int(given)


def _text(given: str, *, most: int) -> str:
    if len(given) > most:
        raise ValueError(f"{len(given):,} letters are too many; write at most {most:,}")
    return given


def _choice(given: str, *, values: tuple[str, ...]) -> str:
    if given not in values:
        raise ValueError(unknown_name("value", given, values))
    return given


def _moment(given: str) -> int:
    try:
        return moment_ms(given)
    except (ValueError, OverflowError):
        raise ValueError(
            f"invalid moment {_shown(given)}; write it as 2026-01-31T23:00:00Z, with its zone"
        ) from None


def _fields(given: str, *, known: tuple[str, ...]) -> tuple[str, ...]:
    if len(given) > _MAX_FIELDS:
        raise ValueError(f"{len(given):,} letters are too many; write at most {_MAX_FIELDS:,}")
    names = [name.strip() for name in given.split(",")]
    problems = unknown_names("field", names, known)
    if problems:
        raise ValueError("; ".join(problems))
    return tuple(dict.fromkeys(names))
