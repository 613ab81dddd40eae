"""What is started together is gone together, whichever way a block is left."""

from __future__ import annotations

import pytest

from deploy.local.several import Several


class Stack(Several):
    def __init__(self, failure=None):
        self.failure, self.done = failure, []

    def bring_up(self):
        self.done.append("up")
        if self.failure:
            raise self.failure

    def kill(self):
        self.done.append("killed")


def test_all_is_killed_at_the_end_and_when_the_block_fails():
    stack = Stack()
    with stack:
        assert stack.done == ["up"]
    assert stack.done == ["up", "killed"]
    stack = Stack()
    with pytest.raises(ValueError, match="no"), stack:
        raise ValueError("no")
    assert stack.done == ["up", "killed"]


@pytest.mark.parametrize("failure", [TimeoutError("it is late"), KeyboardInterrupt()])
def test_half_of_it_is_not_left_when_the_start_fails(failure):
    stack = Stack(failure)
    with pytest.raises(type(failure)), stack:
        raise AssertionError("nobody comes here")
    assert stack.done == ["up", "killed"]
