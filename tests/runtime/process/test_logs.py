"""Logs in both forms: one line an event, secrets out, everything arrives."""

from __future__ import annotations

import io
import json
import logging
import re
import subprocess
import sys
import threading
import warnings

import pytest
from freezegun import freeze_time

from runtime.config.interpolation import SecretText
from runtime.kafka.diagnosis import _RULES
from runtime.process import logs


@pytest.fixture
def configured():
    undone = []

    def configure(form="text", level="info", stream=None, redactor=None):
        stream = stream or io.StringIO()
        undone.append(logs.configure(form=form, level=level, stream=stream, redactor=redactor))
        return stream

    yield configure
    for undo in reversed(undone):
        undo()


def fail(sentence):
    raise RuntimeError(sentence)


def test_text_is_for_people(configured):
    early = logs.get("early")  # made before the configuration is read
    stream = configured()
    with freeze_time("2026-11-21 01:14:48.250"):
        early.info("cluster A is up", kafka_cluster="A", brokers=3, took_s=0.25, empty="", note="two words")
        logs.get("store").warning("held\nby \x1b[31manother\u2028", paths=["a", "b"])
        early.debug("not at this level")
    with freeze_time("2026-11-21 01:14:49"):
        early.error("a whole second")
    assert stream.getvalue().splitlines() == [
        (
            "2026-11-21T01:14:48.250Z INFO     cluster A is up  kafka_cluster=A  brokers=3  took_s=0.25  "
            'empty=""  note="two words"  [early]'
        ),
        '2026-11-21T01:14:48.250Z WARNING  held\\nby \\x1b[31manother\\u2028  paths=["a", "b"]  [store]',
        "2026-11-21T01:14:49.000Z ERROR    a whole second  [early]",
    ]


def test_json_is_one_object_a_line(configured):
    stream = configured(form="json", level="debug")
    with freeze_time("2026-11-21 01:14:48"):
        logs.get("x").debug("a\nb", flow="A->B", n=1, odd=object)
    assert json.loads(stream.getvalue()) == {
        "time": "2026-11-21T01:14:48Z",
        "level": "debug",
        "sentence": "a\nb",
        "part": "x",
        "flow": "A->B",
        "n": 1,
        "odd": "<class 'object'>",
    }
    assert stream.getvalue().count("\n") == 1


@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_are_replaced_wherever_they_stand(configured, form):
    redactor = logs.Redactor(["hunter2"])
    stream = configured(form=form, redactor=redactor)
    log = logs.get("x")
    redactor.add(["hunter2-longer", "-----KEY-----\nabcdefgh\n", "abc", ""])
    log.info("pw hunter2", a="hunter2-longer!", b={"hunter2": ["x", ("hunter2",)]}, c=ValueError("hunter2"))
    log.info("abc stays: too short to search for", pem="line abcdefgh", short=SecretText("xy"))
    try:
        fail("token hunter2")
    except RuntimeError:
        log.exception("failed")
    written = stream.getvalue()
    assert "hunter2" not in written
    assert "longer" not in written
    assert "abcdefgh" not in written
    assert "xy" not in written
    assert "abc stays" in written
    assert "token ***" in written


@pytest.mark.parametrize("secret", ["wrong", "password", "token", "Kafka"])
def test_a_secret_that_is_a_word_is_not_given_away_by_our_own_sentences(configured, secret):
    said = f"Kafka says that the user, or the password or token, is wrong; see to {secret}."
    redactor = logs.Redactor([secret])
    assert redactor.text(said) == said
    stream = configured(redactor=redactor)
    logs.get("x").warning(said)
    assert said in stream.getvalue()
    assert "***" not in stream.getvalue()


@pytest.mark.parametrize(
    "said",
    [
        "The value is 'wrong'.",
        'The value is "wrong".',
        "sasl.password=wrong is no line",
        "https://me:wrong@host/",
        "https://wrong:me@host/",
        "my_wrong1 is no key",
        "connecting failed: the user is refused (reported: login wrong for me (wrong) at all)",
        "connecting failed (reported: wrong)",
    ],
)
def test_a_secret_that_is_a_word_is_masked_where_it_may_be_a_value(said):
    assert "wrong" not in logs.Redactor(["wrong"]).text(said)


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_secret_that_is_a_word_is_masked_in_what_others_said(configured, form):
    stream = configured(form=form, redactor=logs.Redactor(["wrong"]))
    try:
        fail("login wrong for me")
    except RuntimeError as error:
        logs.get("x").exception("failed", error=str(error), b={"wrong": ["wrong", 1]}, c=error)
    assert "wrong" not in stream.getvalue()
    assert logs.Redactor(["wrong"]).foreign("login wrong for me") == "login *** for me"


def test_no_word_of_what_is_said_of_a_failed_connection_gives_a_password_away():
    for rule in _RULES:
        said = rule.diagnosis.sentence
        for word in set(re.findall("[A-Za-z]{4,}", said)):
            assert logs.Redactor([word]).text(said) == said, word


def test_a_secret_that_is_a_word_is_masked_in_the_sentences_of_other_libraries(configured):
    stream = configured(redactor=logs.Redactor(["wrong"]))
    logging.getLogger("rdkafka").warning("login wrong for me")
    assert "WARNING  login *** for me  [rdkafka]" in stream.getvalue()


@pytest.mark.parametrize("secret", ["hunter2", "s3cret", "pass-word", "two words", "ü" * 5, "x" * 21])
def test_a_secret_that_is_no_word_is_masked_wherever_it_stands(secret):
    assert logs.Redactor([secret]).text(f"a {secret} b, {secret}.") == "a *** b, ***."


def test_an_exception_follows_indented(configured):
    stream = configured()
    try:
        fail("boom\x1b[2J")
    except RuntimeError:
        logs.get("x").exception("a request failed: a bug")
    first, *rest = stream.getvalue().splitlines()
    assert first.endswith("ERROR    a request failed: a bug  [x]")
    assert all(line.startswith("    ") for line in rest)
    assert rest[-1] == "    RuntimeError: boom\\x1b[2J"


def test_the_standard_library_s_records_and_warnings_arrive(configured):
    stream = configured(level="warning")
    logging.getLogger("rdkafka").warning("%s: broker down", "FAIL")
    logging.getLogger("rdkafka").info("not at this level")
    logging.getLogger("broken").error("%d items", "no number")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old way", UserWarning, stacklevel=1)
    lines = stream.getvalue().splitlines()
    assert "WARNING  FAIL: broker down  [rdkafka]" in lines[0]
    assert "ERROR    %d items  [broken]" in lines[1]
    assert "UserWarning: old way" in lines[2]
    assert "[py.warnings]" in lines[2]
    assert len(lines) == 3


def test_lines_of_several_threads_stay_whole(configured):
    stream = configured(form="json")

    def write(number):
        for _ in range(50):
            logs.get("x").info("y" * 200, number=number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([json.loads(line) for line in stream.getvalue().splitlines()]) == 200


def test_a_reader_that_went_away_ends_nothing(configured):
    class Broken(io.StringIO):
        def write(self, _text):
            raise BrokenPipeError

    configured(stream=Broken())
    logs.get("x").info("nobody hears")


def test_an_unknown_level_is_a_sentence():
    with pytest.raises(
        ValueError, match=r"'loud' is not a log level; write one of  debug, info, warning, error, critical"
    ):
        logs.configure(form="text", level="loud", stream=io.StringIO())


def test_undoing_gives_the_root_logger_back():
    before = logging.getLogger().handlers[:]
    logs.configure(form="text", level="info", stream=io.StringIO())()
    assert logging.getLogger().handlers == before


def test_what_is_nested_without_end_is_cut():
    nest = {}
    nest["a"] = nest
    assert "..." in json.dumps(logs.Redactor().value(nest))


def test_logging_loads_nothing_to_draw_with_and_leaves_that_to_who_wants_it():
    code = (
        "import sys, runtime.process.logs; print(any(name.split('.')[0] in ('rich', 'pygments') for name in sys.modules));"
        "from rich.console import Console; Console(file=sys.stdout).print('drawn')"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines() == ["False", "drawn"]
