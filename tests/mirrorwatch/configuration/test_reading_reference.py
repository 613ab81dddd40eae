"""docs/reference/configuration.md has every key of the models, with the default that the models have."""

from __future__ import annotations

import re
from pathlib import Path
from types import UnionType
from typing import get_args, get_origin

from pydantic import BaseModel, SecretStr

from alerts.config import ObjectiveConfig
from mirrorwatch.configuration.sections import BURROW_NAME, RootSection
from runtime.config.values import measured
from runtime.kafka.properties.msk import OWN_KEYS

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")


def keys_of(model, prefix=""):
    """Yield every key with its field, sections included; a flow's stand under flows.A->B."""
    for name, field in model.model_fields.items():
        yield prefix + name, field
        annotation = field.annotation
        if get_origin(annotation) is UnionType:
            annotation = next(filter(is_section, get_args(annotation)), annotation)
        if is_section(annotation):
            yield from keys_of(annotation, f"{prefix}{name}.")
        elif get_origin(annotation) is dict:
            inner = get_args(annotation)[1]
            if is_section(inner):
                yield from keys_of(inner, f"{prefix}{name}.A->B.")


def is_section(kind):
    return isinstance(kind, type) and issubclass(kind, BaseModel)


KEYS = dict(keys_of(RootSection))
ROWS = {
    key: (default, meaning)
    for key, default, meaning in re.findall(r"^\| `([^`]+)` \| (.*?) \| (.*) \|$", PAGE, re.MULTILINE)
}


def test_the_page_has_every_key_and_no_other():
    ours = {f"clusters.A.{name}" for name in (BURROW_NAME, *OWN_KEYS)}  # the others of a cluster are Kafka's
    entries = {f"objectives[].{name}" for name in ObjectiveConfig.model_fields}
    assert set(ROWS) == set(KEYS) | ours | entries


def test_defaults_are_those_of_the_models():
    checked = 0
    for key, field in KEYS.items():
        default = field.default
        if isinstance(default, SecretStr):
            default = default.get_secret_value()
        if (
            field.is_required()
            or field.default_factory is not None
            or default is None
            or isinstance(default, BaseModel)
        ):
            continue
        written = ROWS[key][0]
        if isinstance(default, bool):
            expected = "true" if default else "false"
        elif isinstance(default, (int, float)):
            expected = (
                measured(default, field.metadata).replace(" ", "").replace("1min", "60s").replace("min", "m")
            )
        else:
            expected = str(getattr(default, "value", default))
        assert written == f"`{expected}`", key
        checked += 1
    assert checked >= 13


def test_every_unit_is_said():
    for key, field in KEYS.items():
        if any("_duration" in str(remark) for remark in field.metadata):
            assert "duration" in ROWS[key][1], key
