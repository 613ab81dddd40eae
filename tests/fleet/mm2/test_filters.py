"""Filters and the regular expressions in them, against the answers of the real classes and of Java."""

import json
from pathlib import Path

import pytest

from fleet.java.regex import LONGEST_CHARS, compile_java
from fleet.mm2 import filters
from fleet.mm2.filters import GroupFilter, TopicFilter, lacks_comma, split_list

GOLDEN = Path(__file__).parents[1] / "golden"
VERSIONS = {"3.9.2": 3, "4.3.0": 4}
ANSWERS = {version: json.loads((GOLDEN / f"kafka-{version}.json").read_text()) for version in VERSIONS}
NAMES = (GOLDEN / "inputs" / "names.txt").read_text().splitlines()
SAMPLES = (GOLDEN / "inputs" / "regex-samples.txt").read_text(encoding="utf-8").split("\n")[:-1]
REGEXES = ANSWERS["4.3.0"]["regexes"]

# What Java accepts and we refuse with a sentence, so that nobody is told something false.
NOT_CARRIED_OVER = {
    r"(a)\2", r"\1(a)", r"(a)(?i)\1", r"(a)\11",
    "^*", "$+", r"\b*", "a{2}{3}", "{2}",
    r".*(?<=a*)",
    "(?x)a b", "(?u)a", r"(?U)\w", "(?d).",
    "[&&a]", "[a&&]", "[a-c&&]", "[a&&&b]", r"[\Q^-]\E]",
    r"\R", r"\X", r"\G", r"\Ga", r"\N{LATIN SMALL LETTER A}", r"\b{g}a",
    r"\p{L}", r"\p{Lu}", r"\pL", r"\p{IsAlphabetic}", r"\p{javaLowerCase}",
}  # fmt: skip


def test_the_tables_are_as_large_as_they_should_be():
    assert len(NAMES) >= 60
    assert len(REGEXES) >= 200
    assert {regex for regex in NOT_CARRIED_OVER if REGEXES[regex] != "refused"} == NOT_CARRIED_OVER


@pytest.mark.parametrize("regex", sorted(REGEXES))
def test_a_regex_matches_what_java_matches(regex):
    if REGEXES[regex] == "refused" or regex in NOT_CARRIED_OVER:
        with pytest.raises(ValueError, match=r"(cannot be (used|translated)|was never opened)"):
            compile_java(regex)
    else:
        pattern = compile_java(regex)
        assert [sample for sample in SAMPLES if pattern.fullmatch(sample)] == REGEXES[regex]


@pytest.mark.parametrize("version", sorted(VERSIONS))
@pytest.mark.parametrize("kind", [TopicFilter, GroupFilter])
@pytest.mark.parametrize("number", range(len(ANSWERS["4.3.0"]["filters"])))
def test_a_filter_lets_through_what_the_real_one_does(version, kind, number):
    answer = ANSWERS[version]["filters"][number]
    word = kind.kind
    given = answer[f"{word}.given"]
    made = {
        "include": given.get(word, ".*"),
        "exclude": given.get(f"{word}.exclude"),
        "blacklist": given.get(f"{word}.blacklist"),
    }
    if "PatternSyntaxException" in answer[word]:
        with pytest.raises(ValueError, match="cannot be used as a Java regular expression"):
            kind(**made)
        return
    if (
        answer[word] == "refused: ConfigException"
    ):  # 4.x refuses empty entries; mm2 says so before a filter is made
        assert any(not entry for text in given.values() for entry in split_list(text))
        return
    major = VERSIONS[version]
    made_filter = kind(**made)
    assert [name for name in NAMES if made_filter.matches(name, major=major)] == answer[word]
    for name in NAMES:
        assert (f"{word} has" in made_filter.why(name, major=major)) == (name in answer[word])


@pytest.mark.parametrize(
    ("made", "name", "sentence"),
    [
        (TopicFilter(), "orders", "topics has '.*'"),
        (TopicFilter(), "__x", "topics.exclude has '__.*'"),
        (TopicFilter("a, b.*"), "bx", "topics has 'b.*'"),
        (TopicFilter("a, b.*"), "c", "no entry of topics ('a, b.*') matches it"),
        (TopicFilter("(a, b)"), "b", "topics has '(a, b)'"),
        (GroupFilter(), "console-consumer-1", "groups.exclude has 'console-consumer-.*'"),
    ],
)
def test_a_filter_says_which_entry_decided(made, name, sentence):
    assert made.why(name) == sentence


def test_each_entry_of_a_list_is_compiled_once(monkeypatch):
    names = [f"orders-{number}" for number in range(600)]  # more than compile_java remembers
    made, compiled = TopicFilter(",".join(names)), []
    monkeypatch.setattr(filters, "compile_java", lambda entry: compiled.append(entry) or compile_java(entry))
    for name in (names[0], names[-1], names[-1]):
        assert made.why(name) == f"topics has '{name}'"
    assert compiled == names


def test_a_list_may_be_as_long_as_its_file():
    names = [f"shop.orders-{number}" for number in range(1500)]
    assert len(text := ",".join(names)) > LONGEST_CHARS
    assert TopicFilter(text).matches(names[-1])
    with pytest.raises(ValueError, match="the list of regular expressions is longer than 1000000 characters"):
        TopicFilter(",".join("a" * 20_000 for _ in range(50)))
    with pytest.raises(ValueError, match="the regular expression is longer than 20000 characters"):
        TopicFilter(f"{'a' * 20_001}, b")


def test_the_default_of_exclude_depends_on_the_version():
    assert TopicFilter().matches("orders.internal", major=4)
    assert not TopicFilter().matches("orders.internal", major=3)
    assert not TopicFilter(blacklist="orders").matches("orders", major=3)
    assert TopicFilter(blacklist="orders").matches("orders", major=4)


@pytest.mark.parametrize(
    ("regex", "sentence"),
    [
        (
            "a{2|3}",
            "'{' does not start a count (a comma in it ends the expression in a list), at character 2",
        ),
        (r"\p{L}+", r"\p{L} cannot be translated (known: ASCII, Alnum, Alpha,"),
        ("(?x)a", "the flag 'x' cannot be translated"),
        ("(a", "a group is not closed (a comma in it ends the expression in a list), at character 1"),
        ("[a", "a class is not closed"),
        ("(" * 60 + "a" + ")" * 60, "groups are nested more than 50 deep"),
        ("[" * 60 + "a" + "]" * 60, "classes are nested more than 50 deep"),
        ("a" * 20_001, "longer than 20000 characters"),
        ("*a", "nothing precedes '*', at character 1"),
    ],
)
def test_a_refusal_says_what_and_where(regex, sentence):
    with pytest.raises(ValueError, match=r".") as refusal:
        compile_java(regex)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("", ()),
        ("  ", ()),
        ("a", ("a",)),
        (" a , b\t,\nc ", ("a", "b", "c")),
        ("a,", ("a", "")),
        (",", ("", "")),
    ],
)
def test_split_list(text, entries):
    assert split_list(text) == entries


@pytest.mark.parametrize(
    ("regex", "matched"),
    [
        (r"[\w-.]", "abzKk7_-."),
        (r"[a-z\d-_]", "abzk7_-"),
        (r"[\p{Alpha}-z]", "abzKk-"),
        (r"[\w--/]", "abzKk7_-./"),
        (r"[\d-[a]]", "a7-"),
        (r"[\w-&&[a-]]", "a-"),
        (r"(?i)[\d-k]", "Kk7-"),
    ],
)
def test_a_hyphen_after_a_set_is_a_member_as_it_is_for_java(regex, matched):
    """As Java 17 answers."""
    assert "".join(one for one in "abzKk7_-./" if compile_java(regex).fullmatch(one)) == matched


def test_a_range_from_vertical_space_is_refused():
    """Java takes it for one character there."""
    with pytest.raises(ValueError, match="a range starts or ends with something that is not a character"):
        compile_java(r"[\v-x]")


@pytest.mark.parametrize(
    ("entry", "lacks"),
    [
        ("orders.* mirrorwatch-canary", True),
        ("orders;payments", True),
        ("orders; payments", True),
        ("(orders|payments).* canary", True),
        ("a b|c d", True),
        ("a b|c", False),
        ("(a b|c)", False),
        ("orders.*", False),
        ("", False),
        ("[a b;]+", False),
        (r"\Qa b\E", False),
        ("a ?b", False),
        ("a(; )*b", False),
    ],
)
def test_an_entry_that_requires_a_blank_or_a_semicolon_lacks_a_comma(entry, lacks):
    assert lacks_comma(entry) is lacks
    topics = ["orders", "a", "b", "c", "ab", "orders.x", "paymentscanary"]
    assert not (lacks and any(TopicFilter(entry).matches(topic) for topic in topics))
