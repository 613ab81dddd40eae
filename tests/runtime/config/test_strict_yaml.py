"""The strict loader: text stays text, and every refusal is a sentence with its line."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.errors import ConfigurationError
from runtime.config import strict_yaml

PLAIN = [
    "NO", "yes", "on", "off", "true", "null", "~", "1:30", "0123", "0x1F", "1e3", "1_000", ".inf", ".nan",
    "2026-11-21", "2026-11-21T01:14:48Z", "10MB", "=", "a->b", "topic.*",
]  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_a_scalar_stays_the_text_that_stands_in_the_file(text):
    assert strict_yaml.load(f"key: {text}\n", file="mw.yml").data == {"key": text}
    assert strict_yaml.load(f"{text}: value\n", file="mw.yml").data == {text: "value"}


def test_shapes_lines_and_missing_values():
    text = 'mm2: mm2.properties\nflows:\n  A->B:\n    topics: "a, b"\n  B->A:\nlist:\n  - one\n  - {x: 1}\nempty:\n'
    document = strict_yaml.load(text, file="mw.yml")
    assert document.data == {
        "mm2": "mm2.properties",
        "flows": {"A->B": {"topics": "a, b"}, "B->A": ""},
        "list": ["one", {"x": "1"}],
        "empty": "",
    }
    assert document.line_of(("flows", "A->B", "topics")) == 4
    assert document.line_of(("list", 1, "x")) == 8
    assert document.line_of(("empty",)) == 9
    assert document.line_of(("flows", "C")) is None
    assert document.file == "mw.yml"


@pytest.mark.parametrize("parser", [yaml.SafeLoader, strict_yaml._LOADER])
def test_for_kubernetes_keys_are_left_out_that_have_no_value(monkeypatch, parser):
    monkeypatch.setattr(strict_yaml, "_LOADER", parser)
    text = (
        "a:\nb: ~\nc: null\nd: Null\ne: NULL\nf: {g: , h, i: 1}\n"
        "j: ''\nk: \"null\"\nl: '~'\nm: nUll\np: |\n  null\no: [null, ~]\n"
    )
    document = strict_yaml.load(text, file="f", for_kubernetes=True)
    assert document.data == {
        "f": {"i": "1"}, "j": "", "k": "null", "l": "~", "m": "nUll", "p": "null\n", "o": ["null", "~"],
    }  # fmt: skip
    assert document.line_of(("e",)) == 5
    with pytest.raises(ConfigurationError, match=r"duplicate key, first in line 1; keep one"):
        strict_yaml.load("a:\na: 1\n", file="f", for_kubernetes=True)


@pytest.mark.parametrize("parser", [yaml.SafeLoader, strict_yaml._LOADER])
def test_for_kubernetes_plain_words_of_yaml_1_1_are_booleans(monkeypatch, parser):
    monkeypatch.setattr(strict_yaml, "_LOADER", parser)
    text = "a: yes\nb: [On, TRUE, y]\nc: {d: no, e: OFF, f: False}\ng: 'yes'\nh: |\n  no\ni: yEs\non: 1:30\n"
    read = strict_yaml.load(text, file="f", for_kubernetes=True)
    assert read.data == {
        "a": "true", "b": ["true", "true", "true"], "c": {"d": "false", "e": "false", "f": "false"},
        "g": "yes", "h": "no\n", "i": "yEs", "true": "1:30",
    }  # fmt: skip
    assert strict_yaml.load("a: yes\nb: OFF\n", file="f").data == {"a": "yes", "b": "OFF"}


def test_a_byte_order_mark_windows_line_ends_and_quoted_names_are_fine():
    assert strict_yaml.load(b"\xef\xbb\xbfa: b\r\n'<<x': \"c\\td\"\r\n", file="f").data == {
        "a": "b",
        "<<x": "c\td",
    }


REFUSED = [
    ("", "mw.yml: file is empty; add keys"),
    ("# only a comment\n\n", "mw.yml: file is empty; add keys"),
    ("---\n", "mw.yml:2: file is empty; add keys"),
    ("- a\n", "mw.yml:1: must be a mapping of keys, such as 'key: value', not a list"),
    ("\nhello", "mw.yml:2: must be a mapping of keys, such as 'key: value', not plain text"),
    ("a: 1\nb:\n  c: 1\n  c: 2\n", "mw.yml:4: b.c: duplicate key, first in line 3; keep one"),
    ("a: {b: 1, b: 2}", "mw.yml:1: a.b: duplicate key, first in line 1; keep one"),
    ("a: &x 1\nb: *x\n", "mw.yml:1: a: anchors (&name) are not supported; write the value itself"),
    ("a: 1\nb: *x\n", "mw.yml:2: b: aliases (*name) are not supported; write the value itself"),
    ("a: 1\n<<: {b: 1}\n", "mw.yml:2: merge keys (<<) are not supported; write the keys themselves"),
    ("a: !!python/object/apply:os.system [ls]\n", (
        "mw.yml:1: a: tags (!name) are not supported; write the value alone"
    )),
    ("a: !!str 1\n", "mw.yml:1: a: tags (!name) are not supported; write the value alone"),
    ("? [a]\n: 1\n", "mw.yml:1: a key must be text, not a list or a mapping"),
    ("a:\n  '': 1\n", "mw.yml:2: a: empty key; write its name, or remove the line"),
    ("a: 1\n---\nb: 2\n", "mw.yml:2: second YAML document (after ---); keep one"),
    ("a:\n\tb: 1\n", "mw.yml:2: invalid YAML: tab in the indentation; indent with spaces"),
    ("a: 1\nb: \x07\n", "mw.yml:2: invalid control character U+0007; remove it"),
    (b"a: 1\nb: \xff\n", "mw.yml:2: not UTF-8 text; save the file as UTF-8"),
    (b"\xff\xfea\x00", "mw.yml:1: not UTF-8 text; save the file as UTF-8"),
    (b"x" * 1_000_001, "mw.yml: larger than 1 MB, the limit for a configuration; check the path"),
    ("a: b: c\n", (
        "mw.yml:1: invalid YAML: mapping values are not allowed in this context (column 5); indent the line"
        " like the one above it, and quote text with ': '"
    )),
    ("a: [1, 2\n", (
        "mw.yml:2: invalid YAML: while parsing a flow sequence did not find expected ',' or ']' (column 1)"
    )),
    ("a: 'b\n", (
        "mw.yml:2: invalid YAML: while scanning a quoted scalar found unexpected end of stream (column 1)"
    )),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sentence"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_and_how(text, sentence):
    with pytest.raises(ConfigurationError) as refused:
        strict_yaml.load(text, file="mw.yml")
    assert str(refused.value) == sentence


def test_a_billion_laughs_are_refused_at_the_first():
    text = "a: &a [x,x]\n" + "".join(
        f"{b}: &{b} [*{a},*{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    with pytest.raises(ConfigurationError, match="anchors"):
        strict_yaml.load(text, file="f")


@pytest.mark.parametrize(
    "text", ["a: " + "[" * 400_000, "a: " + "{b: " * 200_000, "".join(f"{' ' * i}a:\n" for i in range(400))]
)
def test_deep_nesting_is_refused_without_recursion(text):
    with pytest.raises(ConfigurationError, match="nested more than 32 levels deep"):
        strict_yaml.load(text, file="f")


def test_a_file_is_read_within_its_bound_and_named(tmp_path):
    path = tmp_path / "mw.yml"
    with pytest.raises(ConfigurationError) as refused:
        strict_yaml.read(path)
    assert (
        str(refused.value)
        == f"{path}: cannot be read (no such file or directory); check the path and its permissions"
    )
    path.write_text("a: b")
    assert strict_yaml.read(path, file="mw.yml").data == {"a": "b"}
    with pytest.raises(ConfigurationError, match="is a directory"):
        strict_yaml.read(tmp_path)


@settings(deadline=None)  # the machine may be busy with brokers
@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_text_gives_a_document_or_a_sentence(text):
    try:
        document = strict_yaml.load(text, file="f")
    except ConfigurationError as error:
        refused = error
    else:
        assert isinstance(document.data, dict)
        assert all(document.line_of((key,)) for key in document.data)
        return
    assert str(refused).startswith("f")
    assert refused.problems[0].sentence


TREES = st.recursive(
    st.text(),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=4)
        | st.dictionaries(st.text(min_size=1).filter(lambda key: key != "<<"), inner, min_size=1, max_size=4)
    ),
    max_leaves=12,
)


@settings(deadline=None)  # the machine may be busy with brokers
@given(st.dictionaries(st.text(min_size=1).filter(lambda key: key != "<<"), TREES, min_size=1, max_size=5))
def test_what_yaml_writes_in_quotes_comes_back_as_it_was(data):
    text = yaml.safe_dump(data, default_style='"', allow_unicode=False, sort_keys=False, width=10**6)
    assert strict_yaml.load(text, file="f").data == data
