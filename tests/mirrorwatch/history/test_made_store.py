"""A store that is not made yet is unavailable for every command that reads it, and no command makes it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from mirrorwatch.cli.main import cli

CONFIG = """\
clusters: {A: {bootstrap.servers: "127.0.0.1:1"}, B: {bootstrap.servers: "127.0.0.1:2"}}
flows: {A->B: {}}
objectives: [{flow: "*", kind: availability, target: 99}]
"""


@pytest.mark.parametrize(
    ("names", "options"),
    [
        (["report"], []),
        (["report"], ["--format", "json"]),
        (["render"], ["--replay"]),
        (["objectives", "suggest"], []),
        (["exclude"], ["--list"]),
        (["exclude"], ["--remove", "1"]),
        (["drill"], ["--list"]),
        (["annotate"], ["X", "--author", "Ada", "--text", "x"]),
    ],
    ids=" ".join,
)
def test_a_store_that_is_not_made_is_named(tmp_path, names, options):
    path = tmp_path / "own.yaml"
    path.write_text(CONFIG)
    ended = CliRunner().invoke(cli, [*names, str(path), *options], standalone_mode=False)
    assert (ended.return_value, ended.stdout) == (4, "")
    assert ended.stderr == (
        f"the store {tmp_path / 'mirrorwatch.db'} is not made yet; start the service first, or check the path of"
        f" {path} and its store.url\n"
    )
    assert [one.name for one in tmp_path.iterdir()] == ["own.yaml"]
