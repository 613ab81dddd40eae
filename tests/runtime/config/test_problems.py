"""What pydantic finds, in our words: one golden line for each kind, all at once, secrets never shown."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field, SecretStr, ValidationError, model_validator

from fleet.errors import ConfigurationError, Problem
from runtime.config import strict_yaml
from runtime.config.interpolation import interpolate
from runtime.config.sections import Count, Duration, Flag, Number, Section, SiblingError, Size, problems_of


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Inner(Section):
    threshold: Duration = Field(default=5.0, gt=0)
    horizon: Duration = Field(default=60.0, gt=0)

    @model_validator(mode="after")
    def _ordered(self):
        if self.horizon < self.threshold:
            raise SiblingError("horizon", "is shorter than threshold: nothing could ever be late")
        return self


class Everything(Section):
    mode: Literal["create", "precreated", "off"] = "create"
    colour: Colour = Colour.RED
    topic: str = Field(default="t", min_length=1, max_length=10, pattern=r"^[a-z]*$")
    partitions: Annotated[Count, Field(ge=1, le=64)] = 1
    share: Number = 99.9
    size: Size = 1
    on: Flag = False
    names: list[str] = Field(default_factory=list)
    inner: Inner = Inner()
    many: dict[str, Inner] = Field(default_factory=dict)
    clusters: dict[str, dict[str, str]] = Field(default_factory=dict)
    token: SecretStr | None = None
    maybe: Inner | None = None
    either: Inner | str = "off"
    needed: str
    bootstrap: str = Field(default="x", alias="bootstrap.servers")


def told(text, *, prefix="", environ=None, secrets=()):
    document = strict_yaml.load(text, file="mw.yml")
    document, problems = interpolate(document, environ=environ or {}, directory=Path("/nowhere"))
    assert problems == []
    data = document.data[prefix] if prefix else document.data
    with pytest.raises(ValidationError) as refused:
        Everything.model_validate(data)
    found = problems_of(
        refused.value,
        file="mw.yml",
        prefix=prefix,
        line_of=document.line_of,
        model=Everything,
        secrets=secrets,
    )
    return [str(problem) for problem in found]


GOLDEN = """
mode: creat
colour: green
topic: UPPER
partitions: 65
share: many
size: 10
on: yes
names: one
inner: {threshold: 5, horizont: 60s}
many: {a: {threshold: 0s}, b: x, c: {threshold: 9s, horizon: 8s}}
clusters: {A: {bootstrap.servers: [x]}, B: ''}
token: [x]
maybe: []
either: {threshold: soon}
intervall: 1s
bootstrap.server: x
qqqqqqq: 1
"""


def test_every_kind_of_problem_at_once():
    assert told("needed: x" + GOLDEN) == [
        "mw.yml:2: mode: must be one of 'create', 'precreated' or 'off', not 'creat'",
        "mw.yml:3: colour: must be one of 'red' or 'blue', not 'green'",
        "mw.yml:4: topic: must match ^[a-z]*$, not 'UPPER'",
        "mw.yml:5: partitions: must be at most 64, not '65'",
        "mw.yml:6: share: must be a number, not 'many'",
        "mw.yml:7: size: invalid size '10'; write a number with B, kB, MB, GB or TB, for example 10MB",
        "mw.yml:8: on: must be true or false, not 'yes'",
        "mw.yml:9: names: must be a list, not 'one'",
        "mw.yml:10: inner.threshold: invalid duration '5'; write a number with ms, s, m, h or d, for example 5s",
        "mw.yml:10: inner.horizont: unknown key; did you mean 'horizon'?",
        "mw.yml:11: many.a.threshold: must be more than 0 s, not 0 s",
        "mw.yml:11: many.b: must be a mapping of keys, not text",
        "mw.yml:11: many.c.horizon: is shorter than threshold: nothing could ever be late",
        "mw.yml:12: clusters.A.bootstrap.servers: must be text, not a list",
        "mw.yml:12: clusters.B: must be a mapping of keys, not nothing",
        "mw.yml:13: token: must be text, not a list",
        "mw.yml:14: maybe: must be a mapping of keys, not a list",
        (
            "mw.yml:15: either.threshold: invalid duration 'soon'; "
            "write a number with ms, s, m, h or d, for example 5s"
        ),
        "mw.yml:15: either: must be text, not a mapping of keys",
        (
            "mw.yml:16: intervall: unknown key; valid keys: bootstrap.servers, clusters, colour, either,"
            " inner, many, maybe, mode, names, needed, on, partitions, share, size, token, topic"
        ),
        "mw.yml:17: bootstrap.server: unknown key; did you mean 'bootstrap.servers'?",
        (
            "mw.yml:18: qqqqqqq: unknown key; valid keys: bootstrap.servers, clusters, colour, either,"
            " inner, many, maybe, mode, names, needed, on, partitions, share, size, token, topic"
        ),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("mode: create", "mw.yml: needed: missing; this key is required"),
        ("needed: x\ntopic: ''", "mw.yml:2: topic: must not be empty"),
        ("needed: x\ntopic: abcdefghijkl", "mw.yml:2: topic: must have at most 10 characters"),
        ("needed: x\npartitions: 1.5", "mw.yml:2: partitions: must be a whole number, not '1.5'"),
        ("needed: {}", "mw.yml:1: needed: must be text, not a mapping of keys"),
        ("needed: x\nnames: [a, {}]", "mw.yml:2: names.1: must be text, not a mapping of keys"),
        ("needed: x\ninner:", "mw.yml:2: inner: must be a mapping of keys, not nothing"),
        ("needed: x\nmode: " + "y" * 99, f"mw.yml:2: mode: must be one of 'create', 'precreated' or 'off', not '{'y' * 60}...'"),
        ('needed: x\nmode: "a\\u202eb\\n"', "mw.yml:2: mode: must be one of 'create', 'precreated' or 'off', not 'a b '"),
    ],
)  # fmt: skip
def test_single_problems(text, sentence):
    assert told(text) == [sentence]


def test_a_prefix_goes_before_the_key_and_a_missing_key_has_its_section_s_line():
    assert told("other: x\nhttp:\n  mode: x\n", prefix="http") == [
        "mw.yml:2: http.needed: missing; this key is required",
        "mw.yml:3: http.mode: must be one of 'create', 'precreated' or 'off', not 'x'",
    ]


SECRET_PLACES = [
    "mode: ${env:S}", "partitions: ${env:S}", "on: ${env:S}", "inner: ${env:S}", "size: pre${env:S}",
    "names: ${env:S}", "many: {a: {threshold: '${env:S}'}}", "topic: ${env:S}", "colour: ${env:S}",
    "share: ${env:S}", "either: {threshold: '${env:S}'}",
]  # fmt: skip


@pytest.mark.parametrize("text", SECRET_PLACES)
def test_an_interpolated_value_is_never_shown(text):
    lines = told("needed: x\n" + text, environ={"S": "HUSH"})
    assert lines
    assert "HUSH" not in "".join(lines)
    assert "mw.yml:2" in lines[0]


def test_known_secrets_and_secret_fields_are_never_shown():
    assert told("needed: x\nmode: HUSH1", secrets=["HUSH1"]) == [
        "mw.yml:2: mode: must be one of 'create', 'precreated' or 'off', not '***'"
    ]

    class Guarded(Section):
        token: Annotated[SecretStr, Field(min_length=9)]

    with pytest.raises(ValidationError) as refused:
        Guarded.model_validate({"token": "HUSH"})
    found = problems_of(refused.value, file="f", prefix="", line_of=lambda _path: None, model=Guarded)
    assert found == [Problem("f", "token", "must have at least 9 entries")]


def test_problems_make_one_configuration_error():
    text = str(ConfigurationError([Problem("f", "a", "x"), Problem("f", "", "y")]))
    assert text == "f: a: x\nf: y"
