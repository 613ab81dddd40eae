"""The command `trace` in a process of its own: what it refuses, with its exit status."""

from __future__ import annotations

from tests.mirrorwatch.cli.test_main import config, mirrorwatch

__all__ = ["config"]  # a fixture


def test_every_problem_at_once_is_status_2_without_a_connection(config):
    ended = mirrorwatch("trace", config, "--topic", "orders", "--offset", "3", "--time", "noon")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.splitlines() == [
        "--offset, --time: exclude each other; write one",
        "--partition: missing; --offset requires it",
        "--time: invalid moment 'noon'; write it as 2026-11-27T17:30:00Z",
        "Nothing was traced: 3 problems.",
    ]


def test_a_source_that_cannot_be_reached_is_status_4_with_a_sentence(config):
    ended = mirrorwatch("trace", config, "--topic", "orders", "--partition", "0", "--offset", "3")
    assert (ended.returncode, ended.stdout) == (4, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith("cluster A at 127.0.0.1:1: ")
