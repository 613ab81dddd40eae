"""Problems of a configuration quote what is written there, and show no secret, nor give one away by a mask."""

from __future__ import annotations

import pytest

from mirrorwatch.config_problems import _without


@pytest.mark.parametrize(
    ("secret", "sentence", "shown"),
    [
        ("wrong", "is wrong; write another", "is wrong; write another"),
        ("write", "is wrong; write another", "is wrong; write another"),
        ("wrong", "is 'Wrong', and no number", "is '***', and no number"),
        ("wrong", "holds user:wrong@host", "holds user:***@host"),
        ("hunter2", "is HUNTER2 here", "is *** here"),
        ("no", "is 'no', and no number", "is '***', and no number"),
    ],
)
def test_a_secret_is_hidden_where_it_is_a_value(secret, sentence, shown):
    assert _without(sentence, [secret]) == shown
