"""Types of values in a configuration, read from the text of the strict reader.

For the `config` modules of all packages. Each type refuses a value with a sentence that problems_of passes
on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, SecretStr

from fleet.quantity import bytes_text, duration_s, duration_text, rate_bytes_s, size_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic.fields import FieldInfo


class Section(BaseModel):
    """A part of the configuration: immutable, and unknown keys are refused."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, validate_default=True, populate_by_name=True
    )


class Reload(StrEnum):
    """When a change of a key takes effect."""

    AT_ONCE = "reload"
    ITS_FLOWS = "reload; flows that it changes restart"
    ALL_FLOWS = "reload; all flows restart"
    LAG = "reload; the lag monitor restarts"
    NEXT_RUN = "next run"
    NEXT_START = "next start"


def declared(reload: Reload, *, default: str = "") -> dict[str, JsonValue]:
    """Return what a key declares in addition to pydantic: when a change takes effect.

    `default` is the default in words, for a key that takes it from elsewhere.
    """
    return {"reload": reload.value, "default_words": default}


def reload_of(field: FieldInfo) -> Reload:
    """Return when a change of this key takes effect."""
    assert isinstance(field.json_schema_extra, dict)
    return Reload(str(field.json_schema_extra["reload"]))


class SiblingError(ValueError):
    """A value that conflicts with another one; reported at `key`, a sibling of the checked field."""

    def __init__(self, key: str, sentence: str) -> None:
        super().__init__(sentence)
        self.key = key


def _duration(value: Any) -> Any:
    return duration_s(value) if isinstance(value, str) else value


def _size(value: Any) -> Any:
    return size_bytes(value) if isinstance(value, str) else value


def _rate(value: Any) -> Any:
    return rate_bytes_s(value) if isinstance(value, str) else value


def _flag(value: Any) -> Any:
    if isinstance(value, str):
        if value not in {"true", "false"}:
            raise ValueError(f"must be true or false, not '{value}'")
        return value == "true"
    return value


def _count(value: Any) -> Any:
    if isinstance(value, str):
        if re.fullmatch(r"[+-]?\d{1,18}", value) is None:
            raise ValueError(f"must be a whole number, not '{value}'")
        return int(value)
    return value


def _share(value: Any) -> Any:
    if isinstance(value, str):
        if re.fullmatch(r"[+-]?\d{1,9}(\.\d{1,12})?", value) is None:
            raise ValueError(f"must be a number, not '{value}'")
        return float(value)
    return value


_IS_DURATION = BeforeValidator(_duration)
_IS_SIZE = BeforeValidator(_size)
_IS_RATE = BeforeValidator(_rate)
_IS_FLAG = BeforeValidator(_flag)
_IS_COUNT = BeforeValidator(_count)
_IS_NUMBER = BeforeValidator(_share)
_NAMED = (
    (_IS_DURATION, "duration"),
    (_IS_SIZE, "size"),
    (_IS_RATE, "rate"),
    (_IS_FLAG, "`true` or `false`"),
    (_IS_COUNT, "whole number"),
    (_IS_NUMBER, "number"),
)
_BOUND_WORDS = {"ge": "at least {}", "gt": "more than {}", "le": "at most {}", "lt": "less than {}"}

Duration = Annotated[float, _IS_DURATION]
"""Seconds, from a text such as 500ms, 5s or 28d."""

Size = Annotated[int, _IS_SIZE]
"""Bytes, from a text such as 10MB."""

Rate = Annotated[int, _IS_RATE]
"""Bytes a second, from a text such as 50MB/s."""

Flag = Annotated[bool, _IS_FLAG]
"""True or false, and no other spelling of them."""

Count = Annotated[int, _IS_COUNT]
"""A whole number."""

Number = Annotated[float, _IS_NUMBER]
"""A decimal number, such as 99.9."""


def measured(value: float, remarks: Iterable[object]) -> str:
    """Return a number in its field's unit: a duration, a size, or plain."""
    for remark in remarks:
        if remark == _IS_DURATION:
            return duration_text(value)
        if remark == _IS_SIZE:
            return bytes_text(value)
        if remark == _IS_RATE:
            return f"{bytes_text(value)}/s"
    return f"{value:.12g}"


@dataclass(frozen=True, slots=True)
class Key:
    """A key as the reference shows it; `default` and `values` are Markdown."""

    path: str
    default: str
    values: str
    meaning: str
    reload: Reload


def keys_of(section: type[Section], prefix: str = "") -> Iterator[Key]:
    """Yield every key of a section and of those in it: `flows.A->B.topics`, `objectives[].kind`."""
    for name, field in section.model_fields.items():
        path = prefix + name
        yield Key(path, _default(field), _values(field), field.description or "", reload_of(field))
        for kind in _types(field.annotation):
            if isinstance(kind, type) and issubclass(kind, Section):
                step = {dict: ".A->B.", list: "[]."}.get(_holder(field.annotation), ".")
                yield from keys_of(kind, path + step)


def _default(field: FieldInfo) -> str:
    assert isinstance(field.json_schema_extra, dict)
    if words := str(field.json_schema_extra["default_words"]):
        return words
    if field.is_required():
        return "required"
    default: Any = field.get_default(call_default_factory=True)
    match default:
        case None | []:
            return "none"
        case bool():
            text = str(default).lower()
        case int() | float():
            text = measured(default, field.metadata).replace(" ", "").replace("min", "m")
        case SecretStr():
            text = default.get_secret_value()
        case _:
            text = str(default)
    return f"`{text}`"


def _values(field: FieldInfo) -> str:
    """Return what a key takes, with its bounds: `duration, 0.01 s to 1 h`."""
    kinds = _types(field.annotation)
    choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    choices += [one for kind in kinds if isinstance(kind, type) and issubclass(kind, StrEnum) for one in kind]
    if choices:
        return ", ".join(f"`{one}`" for one in choices)
    remarks = [*field.metadata, *_remarks(field.annotation)]
    bounds = {
        sign: measured(getattr(one, sign), remarks)
        for one in remarks
        for sign in _BOUND_WORDS
        if getattr(one, sign, None) is not None
    }
    words = [_BOUND_WORDS[sign].format(bound) for sign, bound in bounds.items()]
    if {"ge", "le"} <= bounds.keys():
        words = [f"{bounds['ge']} to {bounds['le']}"]
    named = [name for remark, name in _NAMED if remark in remarks]
    if _holder(field.annotation) is list:
        named = ["list"]
    return ", ".join([*named, *words])


def _holder(annotation: Any) -> Any:
    """Return list or dict if the key holds several values, else None."""
    origins = [get_origin(one) for one in (annotation, *get_args(annotation))]
    return next((origin for origin in origins if origin in (list, dict)), None)


def _types(annotation: Any) -> list[Any]:
    """Return the types of a key's values: those of a union, of a list, or of a mapping."""
    if get_origin(annotation) is Literal or not get_args(annotation):
        return [annotation]
    return [kind for one in get_args(annotation) for kind in _types(one)]


def _remarks(annotation: Any) -> list[Any]:
    """Return the metadata in an annotation, without its types."""
    own = [
        remark
        for one in getattr(annotation, "__metadata__", ())
        for remark in (one, *getattr(one, "metadata", ()))  # a Field holds its bounds
    ]
    return own + [remark for one in get_args(annotation) if one not in own for remark in _remarks(one)]
