from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.kafka.properties.jaas import JaasError, login_module

# What Kafka 4.3's own JaasContext.loadClientContext made of each text; `java` is null where it refused.
_GOLDEN = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "golden" / "jaas.jsonl").read_text(encoding="utf-8").splitlines()
]
_SECRET = "hunter2-geheim"


@pytest.mark.parametrize("case", _GOLDEN, ids=lambda case: case["text"][:60])
def test_reads_what_the_java_client_reads(case):
    if case["java"] is None:
        with pytest.raises(JaasError):
            login_module(case["text"])
    else:
        module = login_module(case["text"])
        assert {"module": module.name, "options": module.options} == case["java"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "missing login module"),
        ("x.Y", "missing control flag after the login module"),
        (f'x.Y password="{_SECRET}";', "invalid control flag"),
        (f'x.Y required password="{_SECRET}"', "does not end with a semicolon"),
        (f"x.Y required password={_SECRET}/x;", "does not end with a semicolon"),
        (f'x.Y required password="{_SECRET};', "unclosed quote"),
        ("x.Y required password=12345;", "a bare number is not a value"),
        (f"x.Y required password={_SECRET}==;", "invalid character between the options"),
        (f'x.Y required a=b; {_SECRET} required c="d";', "must have one login module, not 2"),
        ("x.Y required " + "a=b " * 20000 + ";", "longer than"),
    ],
)
def test_says_what_is_wrong_without_the_secret(text, said):
    with pytest.raises(JaasError) as caught:
        login_module(text)
    assert said in str(caught.value)
    assert _SECRET not in str(caught.value)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=30))
def test_any_quoted_value_comes_back(value):
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    module = login_module(f'a.b.ScramLoginModule required username="u" password="{quoted}";')
    assert module.options == {"username": "u", "password": value}
    assert module.simple_name == "ScramLoginModule"


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_with_a_sentence(text):
    said = ""
    try:
        module = login_module(text)
    except JaasError as error:
        said = str(error)
    assert said or module.name is not None


def test_repr_shows_no_option():
    assert _SECRET not in repr(login_module(f'x.Y required password="{_SECRET}";'))
