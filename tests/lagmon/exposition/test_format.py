"""How labels, headers and values are written down."""

from __future__ import annotations

import re
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleet.series.catalogue import CANARY_LATENCY_SECONDS, COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS
from fleet.series.kinds import Group, Kind, Series, Unit
from fleet.series.lag import GROUP_LAG_SECONDS, GROUP_STATUS, OVERTAKEN_RECORDS_TOTAL
from lagmon.exposition.format import (
    LONGEST_LABEL_BYTES,
    LONGEST_VALUE_BYTES,
    MOST_SECONDS,
    Form,
    form_of,
    header,
    label_text,
)
from lagmon.exposition.values import known, seconds_texts, value_texts

LARGEST = 2**63 - 1


def read_back(text: bytes) -> str:
    """Return the value that a scraper reads from what stands between the quotes."""
    return re.sub(
        r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text.decode(), flags=re.DOTALL
    )


def digits(value: str) -> str:
    return sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:20]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", b""),
        ("orders", b"orders"),
        ("a\\b", rb"a\\b"),
        ('a"b', rb"a\"b"),
        ("a\nb", rb"a\nb"),
        ("a\\nb", rb"a\\nb"),
        ('\\"\n', rb"\\\"\n"),
        ("größe 漢字 🦆", "größe 漢字 🦆".encode()),
        ("a{}=, \t\r\x00\x1b", b"a{}=, \t\r\x00\x1b"),
        ("x" * LONGEST_LABEL_BYTES, b"x" * LONGEST_LABEL_BYTES),
        ("x" * 257, b"x" * 235 + f"~{digits('x' * 257)}".encode()),
        (
            "ü" * 129,
            "ü".encode() * 117 + f"~{digits('ü' * 129)}".encode(),
        ),  # 234 bytes: half an ü is not kept
        ('"' * 300, rb"\"" * 235 + f"~{digits(chr(34) * 300)}".encode()),
        ("a\udc80", rb"a\\udc80" + f"~{digits(chr(97) + chr(0xDC80))}".encode()),
    ],
)
def test_a_label_is_written_so_that_a_scraper_reads_the_value(value, text):
    assert label_text(value) == text


def test_a_value_that_looks_like_the_short_form_of_another_is_not_taken_for_it():
    long = "x" * 32_768
    short = label_text(long)
    assert label_text(short.decode()) == b"x" * 235 + f"~{digits(short.decode())}".encode() != short
    # What only resembles it is left as it is.
    for value in ("~" + "a" * 19, "~" + "g" * 20, "~" + "a" * 20 + "b", "~" + "a" * 20 + "\n"):
        assert read_back(label_text(value)) == value


ANY_TEXT = st.text(
    st.characters(exclude_categories=()) | st.sampled_from('\\"\n~\udc80ü🦆'), max_size=40
) | st.builds(
    lambda piece, times: piece * times, st.text(st.characters(exclude_categories=()), min_size=1, max_size=8),
    st.integers(30, 300),
)  # fmt: skip


@given(ANY_TEXT)
@example("\ud800")
def test_a_label_is_bounded_and_exact_where_it_can_be(value):
    text = label_text(value)
    shown = read_back(text)
    assert b"\n" not in text
    assert len(shown.encode()) <= LONGEST_LABEL_BYTES
    if re.search(r"~[0-9a-f]{20}\Z", shown) is None:
        assert shown == value
    else:
        assert shown.endswith(digits(value))


@given(
    st.lists(
        ANY_TEXT | st.builds(lambda value: read_back(label_text(value)), ANY_TEXT), unique=True, max_size=5
    )
)
def test_two_values_stay_two(values):
    assert len({label_text(value) for value in values}) == len(values)


@pytest.mark.parametrize(
    ("content_type", "form"),
    [
        ("text/plain; version=0.0.4; charset=utf-8", Form.PLAIN),
        ("text/plain; version=1.0.0; charset=utf-8; escaping=underscores", Form.PLAIN),
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", Form.OPENMETRICS),
        ("Application/OpenMetrics-Text", Form.OPENMETRICS),
        ("", Form.PLAIN),
    ],
)
def test_the_form_is_that_of_the_content_type(content_type, form):
    assert form_of(content_type) is form


def made(**changes):
    fields = {"name": "a", "kind": Kind.GAUGE, "unit": Unit.STATUS, "group": Group.SERVICE, "help": "B."}
    return Series(**(fields | changes))


@pytest.mark.parametrize(
    ("series", "plain", "openmetrics"),
    [
        (
            GROUP_LAG_SECONDS,
            (
                f"# HELP mirrorwatch_group_lag_seconds {GROUP_LAG_SECONDS.help}\n"
                "# TYPE mirrorwatch_group_lag_seconds gauge"
            ),
            (
                f"# HELP mirrorwatch_group_lag_seconds {GROUP_LAG_SECONDS.help}\n"
                "# TYPE mirrorwatch_group_lag_seconds gauge\n"
                "# UNIT mirrorwatch_group_lag_seconds seconds"
            ),
        ),
        (
            OVERTAKEN_RECORDS_TOTAL,
            (
                f"# HELP mirrorwatch_overtaken_records_total {OVERTAKEN_RECORDS_TOTAL.help}\n"
                "# TYPE mirrorwatch_overtaken_records_total counter"
            ),
            (
                f"# HELP mirrorwatch_overtaken_records {OVERTAKEN_RECORDS_TOTAL.help}\n"
                "# TYPE mirrorwatch_overtaken_records counter\n"
                "# UNIT mirrorwatch_overtaken_records records"
            ),
        ),
        (
            GROUP_STATUS,
            f"# HELP mirrorwatch_group_status {GROUP_STATUS.help}\n# TYPE mirrorwatch_group_status gauge",
            f"# HELP mirrorwatch_group_status {GROUP_STATUS.help}\n# TYPE mirrorwatch_group_status gauge",
        ),
        (
            made(help='Back\\slash, "quote"\nline.'),
            '# HELP mirrorwatch_a Back\\\\slash, "quote"\\nline.\n# TYPE mirrorwatch_a gauge',
            '# HELP mirrorwatch_a Back\\\\slash, \\"quote\\"\\nline.\n# TYPE mirrorwatch_a gauge',
        ),
    ],
)
def test_the_header_is_each_formats_own(series, plain, openmetrics):
    assert header(series, Form.PLAIN).decode() == plain
    assert header(series, Form.OPENMETRICS).decode() == openmetrics


def test_an_instants_unit_is_seconds():
    lines = header(COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS, Form.OPENMETRICS).decode().splitlines()
    assert lines[2] == "# UNIT mirrorwatch_collector_last_success_timestamp_seconds seconds"


def test_a_histogram_is_refused_in_words():
    with pytest.raises(ValueError, match="mirrorwatch_canary_latency_seconds: a histogram; export it with"):
        header(CANARY_LATENCY_SECONDS, Form.PLAIN)


def test_which_values_are_told():
    floats = [0.0, -0.0, 1e-9, 5.5, MOST_SECONDS, -1.0, -0.1, np.nan, np.inf, -np.inf, MOST_SECONDS * 1.01]
    assert known(np.array(floats)).tolist() == [True] * 5 + [False] * 6
    assert known(np.array([0, 1, LARGEST, -1, -LARGEST - 1])).tolist() == [True, True, True, False, False]
    assert known(np.array([7, -1], dtype=np.int8)).tolist() == [True, False]


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint8])
def test_integers_are_written_as_such(kind):
    assert value_texts(np.array([0, 7, 100], dtype=kind)) == [b"0\n", b"7\n", b"100\n"]


def test_the_longest_integer_is_as_long_as_said():
    assert value_texts(np.array([LARGEST])) == [b"9223372036854775807\n"]
    assert len(b"9223372036854775807\n") <= LONGEST_VALUE_BYTES


def seconds(values):
    whole, rest = seconds_texts(np.array(values))
    return [one + other for one, other in zip(whole, rest.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, b"0\n"),
        (-0.0, b"0\n"),
        (12.0, b"12\n"),
        (0.5, b"0.5\n"),
        (0.05, b"0.05\n"),
        (0.001, b"0.001\n"),
        (0.0004, b"0\n"),
        (0.0006, b"0.001\n"),
        (59.9996, b"60\n"),
        (10.05, b"10.05\n"),
        (1_700_000_000.123, b"1700000000.123\n"),
        (1e9, b"1000000000\n"),
    ],
)
def test_seconds_are_rounded_to_thousandths_and_whole_where_they_are(value, text):
    assert seconds([value, value]) == [text, text]


def test_the_most_seconds_are_written_and_no_longer_than_said():
    (text,) = seconds([MOST_SECONDS])
    assert text == b"9000000000000000\n"
    assert len(text) + len(".999") <= LONGEST_VALUE_BYTES


@given(st.lists(st.floats(0, 1e11), min_size=1, max_size=20))
def test_seconds_are_pythons_shortest_of_the_rounded(values):
    expected = [repr(float(np.round(value, 3))).removesuffix(".0") for value in values]
    assert seconds(values) == [f"{text}\n".encode() for text in expected]


@given(st.lists(st.integers(0, LARGEST), min_size=1, max_size=20))
def test_integers_are_pythons(values):
    assert value_texts(np.array(values, dtype=np.int64)) == [f"{value}\n".encode() for value in values]
