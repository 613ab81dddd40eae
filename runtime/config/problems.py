"""Turn pydantic's errors into sentences: what is wrong, where, and what to do; without secrets."""

from __future__ import annotations

from difflib import get_close_matches
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, SecretBytes, SecretStr, ValidationError

from fleet.errors import Problem
from runtime.config.interpolation import SecretText
from runtime.config.values import measured

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pydantic_core import ErrorDetails

Step = str | int
_LONGEST_SHOWN = 60
_HIDDEN = "***"

_EXPECTED = {
    "string_type": "text",
    "string_sub_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "dict_type": "a mapping of keys",
    "mapping_type": "a mapping of keys",
    "model_type": "a mapping of keys",
    "model_attributes_type": "a mapping of keys",
    "dataclass_type": "a mapping of keys",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
}
_SECTIONS = frozenset(kind for kind, expected in _EXPECTED.items() if expected == "a mapping of keys")
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def problems_of(
    error: ValidationError,
    *,
    file: str,
    prefix: str,
    line_of: Callable[[tuple[str | int, ...]], int | None],
    model: type[BaseModel],
    secrets: Collection[str] = (),
) -> list[Problem]:
    """Return one problem for each thing that pydantic found while it validated `model`.

    `prefix` is the key path of the section, such as `http` or `flows.A->B`; empty for the top.
    `line_of` returns the line of a key path. `secrets` are texts to keep out of every sentence,
    in addition to interpolated ones. Problems are in the order of lines, unknown lines last.
    """
    start = tuple(prefix.split(".")) if prefix else ()
    found: dict[tuple[int, Problem], None] = {}
    for details in error.errors(include_url=False):
        place = _place(model, details)
        sentence = _Sentence(details, place).text()
        hidden = {*secrets, *_secrets_in(details.get("input"))}
        for secret in sorted(hidden, key=len, reverse=True):  # one secret may contain another
            sentence = _without(sentence, secret)
        path = (*start, *place.path)
        line = _line(line_of, path)
        where = f"{file}:{line}" if line else file
        problem = Problem(where, ".".join(str(step) for step in path), sentence)
        found[(line or 1 << 30, problem)] = None  # a union reports the same twice
    return [problem for _line_number, problem in sorted(found, key=lambda pair: pair[0])]


def _line(line_of: Callable[[tuple[str | int, ...]], int | None], path: tuple[Step, ...]) -> int | None:
    """Return the line of the path, or for a missing key of its nearest parent."""
    while path:
        line = line_of(path)
        if line is not None:
            return line
        path = path[:-1]
    return None


class _Place:
    """Where in the model an error is: the path as written in the file, the owner of the key, its type."""

    def __init__(self, model: type[BaseModel]) -> None:
        self.path: tuple[Step, ...] = ()
        self.owner: type[BaseModel] | None = None
        self.annotation: Any = model
        self.remarks: list[Any] = []  # the annotations of the type in the model

    @property
    def secret(self) -> bool:
        return any(kind in {SecretStr, SecretBytes} for kind in _members(self.annotation))


def _place(model: type[BaseModel], details: ErrorDetails) -> _Place:
    """Follow the error's location through the model, leaving out pydantic's own names for branches."""
    place = _Place(model)
    steps = details["loc"]
    for position, step in enumerate(steps):
        members = _members(place.annotation)
        models = [kind for kind in members if isinstance(kind, type) and issubclass(kind, BaseModel)]
        holders = [kind for kind in members if get_origin(kind) in {dict, list, tuple, set, frozenset}]
        field = next((_field(kind, step) for kind in models if _field(kind, step) is not None), None)
        last = position == len(steps) - 1
        if step == "[key]":
            continue
        if field is not None:
            place.owner, place.annotation, place.remarks = field
        elif models and not holders and last and details["type"] == "extra_forbidden":
            place.owner, place.annotation = models[0], None
        elif holders and not (len(members) > 1 and _is_branch(step)):
            kind = get_args(holders[0])
            place.owner, place.annotation = None, kind[-1] if kind and kind[-1] is not ... else _first(kind)
        else:
            continue  # the name of a union's branch
        place.path = (*place.path, step)
    cause = details.get("ctx", {}).get("error")
    sibling = getattr(cause, "key", None)
    if isinstance(sibling, str):
        is_section = isinstance(place.annotation, type) and issubclass(place.annotation, BaseModel)
        place.path = (*(place.path if is_section else place.path[:-1]), sibling)
    return place


def _is_branch(step: Step) -> bool:
    return isinstance(step, str) and (step in {"str", "int", "float", "bool"} or "[" in step)


def _first(kinds: tuple[Any, ...]) -> Any:
    return kinds[0] if kinds else None


def _field(model: type[BaseModel], step: Step) -> tuple[type[BaseModel], Any, list[Any]] | None:
    for name, info in model.model_fields.items():
        if step in {name, info.alias, info.validation_alias}:
            return model, info.annotation, info.metadata
    return None


def _members(annotation: Any) -> list[Any]:
    """Return the types that an annotation allows, without None and without Annotated's remarks."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _members(get_args(annotation)[0])
    if origin is Union or origin is UnionType:
        return [kind for each in get_args(annotation) if each is not type(None) for kind in _members(each)]
    return [annotation]


def _secrets_in(value: object) -> set[str]:
    match value:
        case SecretText():
            return {str(value)}
        case list():
            return set().union(*(_secrets_in(each) for each in value))
        case dict():
            return set().union(*(_secrets_in(each) for each in value.values()))
        case _:
            return set()


def _without(sentence: str, secret: str) -> str:
    """Hide a secret; one of less than four letters only where it is quoted, as it may be part of any word."""
    sentence = sentence.replace(f"'{secret}'", f"'{_HIDDEN}'")
    return sentence.replace(secret, _HIDDEN) if len(secret) >= 4 else sentence


class _Sentence:
    def __init__(self, details: ErrorDetails, place: _Place) -> None:
        self._details = details
        self._place = place

    def text(self) -> str:
        kind = self._details["type"]
        context = self._details.get("ctx", {})
        expected = _EXPECTED.get(kind)
        if expected is not None:
            return f"must be {expected}, not {self._there()}"
        if kind in _BOUNDS:
            name, words = _BOUNDS[kind]
            remarks = self._place.remarks
            value = self._details.get("input")
            there = measured(value, remarks) if isinstance(value, int | float) else self._there()
            return f"must be {words} {measured(context[name], remarks)}, not {there}"
        match kind:
            case "extra_forbidden":
                sentence = self._unknown_key()
            case "missing":
                sentence = "missing; this key is required"
            case "literal_error" | "enum":
                # pydantic writes 'a', 'b' or 'c'
                sentence = f"must be one of {context['expected']}, not {self._there()}"
            case "value_error" | "assertion_error":
                sentence = self._ours(context.get("error"))
            case "string_too_short" | "too_short":
                least = context["min_length"]
                sentence = "must not be empty" if least == 1 else f"must have at least {least} {self._unit()}"
            case "string_too_long" | "too_long":
                sentence = f"must have at most {context['max_length']} {self._unit()}"
            case "string_pattern_mismatch":
                sentence = f"must match {context['pattern']}, not {self._there()}"
            case _:
                sentence = self._details["msg"][:1].lower() + self._details["msg"][1:]
        return sentence

    def _ours(self, cause: object) -> str:
        """Return the sentence of a validator; it may quote a value that must stay hidden."""
        value = self._details.get("input")
        if self._place.secret and isinstance(value, str) and value:
            # Only as a quotation: the value may be a word of the sentence itself.
            return str(cause).replace(f"'{value}'", f"'{_HIDDEN}'")
        return str(cause)

    def _there(self) -> str:
        value = self._details.get("input")
        match value:
            case _ if isinstance(value, SecretText) or (self._place.secret and isinstance(value, str)):
                shown = _HIDDEN
            case "" | None:
                shown = "nothing"
            case str() if self._details["type"] in _SECTIONS:  # it may be an address with its password
                shown = "text"
            case str():
                short = value if len(value) <= _LONGEST_SHOWN else value[:_LONGEST_SHOWN] + "..."
                shown = "'" + "".join(each if each.isprintable() else " " for each in short) + "'"
            case list() | tuple():
                shown = "a list"
            case dict():
                shown = "a mapping of keys"
            case _:
                shown = str(value)[:_LONGEST_SHOWN]
        return shown

    def _unit(self) -> str:
        """Return what the length of a value counts."""
        return "characters" if self._details["type"].startswith("string_") else "entries"

    def _unknown_key(self) -> str:
        name = str(self._details["loc"][-1])
        owner = self._place.owner
        known = [info.alias or field for field, info in owner.model_fields.items()] if owner else []
        near = get_close_matches(name, known, n=1, cutoff=0.6)
        if near:
            return f"unknown key; did you mean '{near[0]}'?"
        return f"unknown key; valid keys: {', '.join(sorted(known))}"
