"""Texts that users see are in plain words: no phrase of `plain_words` in any of them."""

from __future__ import annotations

import pytest

from tests.house.plain_words import PHRASES, found_in
from tests.house.user_texts import Text, literals, texts

# Texts that have to be as they are.
AS_THEY_ARE = frozenset(
    {
        # The name of a released migration: a store with another name is refused.
        ("canary/persistence/tables.py", "books by the minute, coverage and findings"),
        # A message of Spark.
        (
            "checksum/spark/failures.py",
            "Master removed our application|Application has been killed|No active SparkContext",
        ),
    }
)


@pytest.fixture(scope="module")
def collected():
    return list(texts())


def test_no_user_text_has_a_forbidden_phrase(collected):
    found = [
        f"{path}:{line}: {phrase} in: {text[:120]}"
        for path, line, text in collected
        for phrase in found_in(text)
        if (path, text) not in AS_THEY_ARE
    ]
    assert "\n".join(found) == ""


def test_each_exception_is_a_text(collected):
    assert {(one.path, one.text) for one in collected} >= AS_THEY_ARE


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("mirrorwatch/cli", "Check a configuration, and connect to its clusters."),  # help
        ("mirrorwatch/cli/status.py", "{}: no answer within {} s; try again, or read the log of the service"),
        ("mirrorwatch/templates/chart.html", "No measurements in the last 15 minutes."),
        ("mirrorwatch/templates/incident.html", "What to do now"),  # in a Jinja tag
        ("mirrorwatch/static/page.js", "Connection to Mirrorwatch lost since "),
        ("alerts/rules/symptoms.py", "Records are lost on {{ $labels.flow }}"),
        ("dashboards/boards/flow.py", "Age of the last arrival"),
        ("mirrorwatch/api/flows.py", "Why it has this verdict."),
    ],
)
def test_every_kind_of_text_is_collected(collected, path, text):
    near = [one.text.strip() for one in collected if one.path == path]
    assert near
    if path != "mirrorwatch/api/flows.py":
        assert any(text.strip() in one for one in near)


def test_an_f_string_is_one_text_and_a_docstring_is_none():
    source = '"""It tells."""\nx = f"A {y} tells {\'that it stood\' if y else 1}"\nz = "oneword"\n'
    assert list(literals("a.py", source)) == [Text("a.py", 2, "A {} tells {that it stood}")]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The mirror stands still: nobody told it.", 3),
        ("A topic was made anew; the log's end is behind.", 2),
        ("Log end offset 5; MirrorMaker hangs.", 0),
        ("our own right to read", 2),
        ("The newest look was taken; one look is enough", 1),
    ],
)
def test_phrases(text, count):
    assert len(found_in(text)) == count


def test_no_phrase_is_there_twice():
    patterns = [phrase.pattern.pattern for phrase in PHRASES]
    assert len(set(patterns)) == len(patterns)
