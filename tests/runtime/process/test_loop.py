"""A result that comes out of an event loop."""

from __future__ import annotations

import pytest

from runtime.process.loop import run_to_end


class Large:
    def __repr__(self):
        raise AssertionError("its text is not needed")


async def answer(result):
    return result


def test_the_result_is_returned_and_not_written_out():
    large = Large()
    assert run_to_end(answer(large)) is large


def test_an_error_is_raised():
    async def fail():
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run_to_end(fail())
