"""The kinds of values that a configuration holds, read from the text that the strict loader gives.

For the `config` modules of every package. Each refuses with a sentence that problems_of passes on as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from fleet.quantity import bytes_text, duration_s, duration_text, rate_bytes_s, size_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable


class Section(BaseModel):
    """A part of the configuration: unknown keys are refused, and nothing changes once it was read."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, validate_default=True, populate_by_name=True
    )


class SiblingError(ValueError):
    """A value that does not go with another one: told at `key`, a sibling of the field that was checked."""

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
            raise ValueError(f"write true or false instead of '{value}'")
        return value == "true"
    return value


def _count(value: Any) -> Any:
    if isinstance(value, str):
        if re.fullmatch(r"[+-]?\d{1,18}", value) is None:
            raise ValueError(f"write a whole number instead of '{value}'")
        return int(value)
    return value


def _share(value: Any) -> Any:
    if isinstance(value, str):
        if re.fullmatch(r"[+-]?\d{1,9}(\.\d{1,12})?", value) is None:
            raise ValueError(f"write a number instead of '{value}'")
        return float(value)
    return value


_IS_DURATION = BeforeValidator(_duration)
_IS_SIZE = BeforeValidator(_size)
_IS_RATE = BeforeValidator(_rate)

Duration = Annotated[float, _IS_DURATION]
"""Seconds, from a text such as 500ms, 5s or 28d."""

Size = Annotated[int, _IS_SIZE]
"""Bytes, from a text such as 10MB."""

Rate = Annotated[int, _IS_RATE]
"""Bytes a second, from a text such as 50MB/s."""

Flag = Annotated[bool, BeforeValidator(_flag)]
"""True or false, and no other spelling of them."""

Count = Annotated[int, BeforeValidator(_count)]
"""A whole number."""

Number = Annotated[float, BeforeValidator(_share)]
"""A decimal number, such as 99.9."""


def measured(value: float, remarks: Iterable[object]) -> str:
    """Write a number as its field does: a duration or a size with its unit, anything else plainly."""
    for remark in remarks:
        if remark == _IS_DURATION:
            return duration_text(value)
        if remark == _IS_SIZE:
            return bytes_text(value)
        if remark == _IS_RATE:
            return f"{bytes_text(value)}/s"
    return f"{value:.12g}"
