"""Java properties text against what Java reads, and what goes beyond it."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.java import properties as java_properties
from fleet.java.properties import Entry, as_mapping, parse, repeated

GOLDEN = Path(__file__).parents[1] / "golden"
ANSWERS = json.loads((GOLDEN / "kafka-4.3.0.json").read_text())["properties"]


def test_every_file_has_an_answer():
    assert sorted(ANSWERS) == sorted(path.name for path in (GOLDEN / "inputs" / "properties").iterdir())
    assert len(ANSWERS) > 10


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_reads_what_java_reads(name):
    with (GOLDEN / "inputs" / "properties" / name).open(encoding="utf-8", newline="") as file:
        text = file.read()
    if ANSWERS[name] == "refused":
        with pytest.raises(ValueError, match=r"line \d+ holds \\u"):
            parse(text)
    else:
        assert as_mapping(parse(text)) == ANSWERS[name]


def test_lines_are_those_on_which_a_key_begins():
    entries = parse("# one\n\na = 1\nb = \\\n  2\nc = 3\r\nd = 4")
    assert entries == (Entry("a", "1", 3), Entry("b", "2", 4), Entry("c", "3", 6), Entry("d", "4", 7))


def test_repeated_keys_are_found_with_both_lines():
    entries = parse("a=1\nb=2\na=3\na=4")
    assert [(old.line, new.line) for old, new in repeated(entries)] == [(1, 3), (3, 4)]
    assert as_mapping(entries) == {"a": "4", "b": "2"}
    assert repeated(parse("a=1\nb=2")) == ()


def escaped(text: str) -> str:
    """Write a key or value so that it survives: every UTF-16 unit as an escape of its own."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=5))
def test_escaped_text_comes_back(properties):
    text = "\n".join(f"{escaped(key)}={escaped(value)}" for key, value in properties.items())
    # An entry of two empty texts is the line `=`, which Java reads as such.
    assert as_mapping(parse(text)) == properties


@given(st.text(alphabet="a=: \t\\\n\r#!u0é", max_size=40))
def test_any_text_is_read_or_refused_with_a_line(text):
    with contextlib.suppress(ValueError):
        entries = parse(text)
        lines = [entry.line for entry in entries]
        assert all(1 <= line <= text.count("\n") + text.count("\r") + 1 for line in lines)
        assert lines == sorted(set(lines))


def test_names_are_public():
    assert java_properties.Entry is Entry
