"""References to the environment and to files: resolved, secret, and every problem at once."""

from __future__ import annotations

import pytest

from runtime.config import strict_yaml
from runtime.config.interpolation import SecretText, interpolate


def resolved(text, tmp_path, **environ):
    return interpolate(strict_yaml.load(text, file="mw.yml"), environ=environ, directory=tmp_path)


def test_values_come_in_as_secrets_and_only_those(tmp_path):
    (tmp_path / "pw").write_bytes(b"s3cret\r\n")
    (tmp_path / "two").write_text("a\nb\n")
    text = (
        "a: ${env:TOKEN}\nb: {c: ['x', 'pre ${file:pw} ${env:TOKEN} post']}\nplain: orders$\n"
        "literal: $${env:TOKEN}\nlines: ${file:two}\n"
    )
    document, problems = resolved(text, tmp_path, TOKEN="t0ken")
    assert problems == []
    assert document.data == {
        "a": "t0ken",
        "b": {"c": ["x", "pre s3cret t0ken post"]},
        "plain": "orders$",
        "literal": "${env:TOKEN}",
        "lines": "a\nb",
    }
    assert isinstance(document.data["a"], SecretText)
    assert not isinstance(document.data["literal"], SecretText)
    assert document.secrets == {"t0ken", "s3cret", "a\nb"}
    assert "t0ken" not in repr(document.data)
    assert "s3cret" not in repr(document.data)
    assert document.line_of(("literal",)) == 4


def test_what_comes_in_is_not_looked_at_again(tmp_path):
    document, problems = resolved("a: ${env:X}", tmp_path, X="${env:Y} $${")
    assert (document.data, problems) == ({"a": "${env:Y} $${"}, [])


def test_every_problem_is_told_at_once_with_its_line(tmp_path):
    (tmp_path / "mw.properties").write_text("password=x")
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "large").write_bytes(b"x" * 65_537)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    text = """
a: ${env:MISSING}
b:
  c: ${env:EMPTY}
  d: [x, "${file:nowhere}"]
e: ${file:mw.properties:password}
f: ${vault:secret/x}
g: ${env:}
h: "${env:OPEN"
i: ${file:empty} ${file:large} ${file:binary}
j: ${topic}
"""
    document, problems = resolved(text, tmp_path, EMPTY="", OPEN="hidden")
    assert [str(problem) for problem in problems] == [
        "mw.yml:2: a: environment variable MISSING is not set; set it before Mirrorwatch starts",
        "mw.yml:4: b.c: environment variable EMPTY is empty; set it to a value",
        f"mw.yml:5: b.d.1: file {tmp_path}/nowhere: cannot be read (no such file or directory); check the path and its permissions",
        (
            f"mw.yml:6: e: file {tmp_path}/mw.properties:password: cannot be read (no such file or directory); "
            "Kafka's form FILE:KEY is not supported, write only the value into mw.properties"
        ),
        (
            "mw.yml:7: f: unknown reference after '${'; write ${env:NAME} or ${file:PATH}, "
            "or $${ for a literal ${"
        ),
        (
            "mw.yml:8: g: unknown reference after '${'; write ${env:NAME} or ${file:PATH}, "
            "or $${ for a literal ${"
        ),
        "mw.yml:9: h: unclosed '${'; add '}', or write '$${' for a literal '${'",
        f"mw.yml:10: i: file {tmp_path}/empty: empty; write the secret into it",
        f"mw.yml:10: i: file {tmp_path}/large: larger than 64 KiB, the limit for a secret; check the path",
        f"mw.yml:10: i: file {tmp_path}/binary: not UTF-8 text; save it as UTF-8",
        (
            "mw.yml:11: j: unknown reference after '${'; write ${env:NAME} or ${file:PATH}, "
            "or $${ for a literal ${"
        ),
    ]
    assert document.data["a"] == "${env:MISSING}"
    assert document.secrets == set()


@pytest.mark.parametrize("name", ["/etc/hostname/x", "sub/none", "\\0"])
def test_a_path_that_cannot_be_opened_is_a_sentence(tmp_path, name):
    _, problems = resolved(f'a: "${{file:{name}}}"', tmp_path)
    assert len(problems) == 1
    assert "cannot be read" in str(problems[0]) or "invalid path" in str(problems[0])
