"""Whether a process still runs, told from the line that it left."""

import json
import subprocess
import sys

import pytest

from runtime.process.identity import is_gone, on_this_machine, this_process
from tests.eventually import eventually

LINE = "from runtime.process.identity import this_process; print(this_process().text(), flush=True); input()"


def changed(text, **fields):
    return json.dumps({**json.loads(text), **fields})


def test_this_process_is_there():
    assert is_gone(this_process().text()) is False
    assert on_this_machine(this_process().text())


def test_another_process_is_there_until_it_is_killed_and_gone_before_it_is_waited_for():
    with subprocess.Popen(
        [sys.executable, "-c", LINE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        line = other.stdout.readline()
        assert is_gone(line) is False
        other.kill()
        eventually(lambda: is_gone(line), 10)  # dead, although nobody has asked for its status yet
        other.wait()
        assert is_gone(line) is True


@pytest.mark.parametrize(
    ("fields", "gone", "here"),
    [
        ({"began": "1"}, True, True),  # the same id, given out anew
        ({"pid": 2**22 + 1}, True, True),
        ({"namespace": "pid:[1]"}, None, True),  # another container on this machine
        ({"boot": "another"}, None, False),
        ({"boot": ""}, None, False),
        ({"began": ""}, None, True),
    ],
)
def test_what_is_known_of_a_line_that_differs(fields, gone, here):
    line = changed(this_process().text(), **fields)
    assert (is_gone(line), on_this_machine(line)) == (gone, here)


@pytest.mark.parametrize("line", ["", "no line", "[]", "{}", '{"pid": 1}', "null"])
def test_what_is_no_line_tells_nothing(line):
    assert is_gone(line) is None
    assert not on_this_machine(line)
