"""The section checksum: defaults, and refusals in words."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from checksum.config import ChecksumConfig
from runtime.config import strict_yaml
from runtime.config.sections import problems_of


class Root(BaseModel):
    checksum: ChecksumConfig = ChecksumConfig()


def read(text):
    return Root.model_validate(strict_yaml.load(text, file="mw.yml").data).checksum


def told(text):
    document = strict_yaml.load(text, file="mw.yml")
    with pytest.raises(ValidationError) as refused:
        Root.model_validate(document.data)
    found = problems_of(refused.value, file="mw.yml", prefix="", line_of=document.line_of, model=Root)
    return [f"{problem.key}: {problem.sentence}" for problem in found]


def test_the_defaults_are_those_of_the_interface():
    found = ChecksumConfig()
    assert (found.topics, found.max_bytes, found.max_rate) == ([], 10**12, None)
    assert (found.exclude_headers, found.bucket, found.cells) == ([], 900, 16)
    assert found.client_id == "mirrorwatch-checksum"


def test_a_full_section():
    found = read(
        "checksum: {topics: ['orders.*', bills], max_bytes: 5GB, max_rate: 50MB/s, bucket: 1m, cells: '64',"
        " exclude_headers: [via], client_id: night}"
    )
    assert (found.topics, found.max_bytes, found.max_rate) == (["orders.*", "bills"], 5 * 10**9, 50_000_000)
    assert (found.bucket, found.cells, found.exclude_headers) == (60, 64, ["via"])
    assert found.client_id == "night"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "max_rate: 50MB",
            "checksum.max_rate: invalid rate '50MB'; write a size per second, for example 50MB/s",
        ),
        ("max_rate: 50MB/m", "checksum.max_rate: invalid rate '50MB/m'"),
        ("max_rate: fast/s", "checksum.max_rate: invalid size 'fast'"),
        ("max_rate: 999B/s", "checksum.max_rate: must be at least 1 kB/s; slower runs"),
        ("max_bytes: '7'", "checksum.max_bytes: invalid size '7'"),
        ("max_bytes: 0B", "checksum.max_bytes: must be more than 0 B, not 0 B"),
        ("topics: ['(']", "checksum.topics.0: '(' cannot be used as a Java regular expression"),
        ("topics: ['  ']", "empty pattern; write a topic name or a Java regular expression"),
        ("bucket: 500ms", "checksum.bucket: must be at least 1 s, not 0.5 s"),
        ("cells: '0'", "checksum.cells: must be at least 1, not 0"),
        ("client_id: 'a b'", "checksum.client_id: invalid client id 'a b'; use up to 200 letters"),
        ("max_byte: 1TB", "checksum.max_byte: unknown key; did you mean 'max_bytes'?"),
    ],
)
def test_refusals(text, sentence):
    (found,) = told(f"checksum: {{{text}}}")
    assert sentence in found


@pytest.mark.parametrize("name", ["a\tb", "a\x1b[2J", "\u202e"])
def test_a_header_s_name_that_no_plan_could_hold_is_refused(name):
    with pytest.raises(ValueError, match="contains an unprintable character"):
        ChecksumConfig(exclude_headers=["fine", name])
