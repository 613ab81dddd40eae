"""`migrate` in a process of its own: what it refuses, with its exit status."""

from __future__ import annotations

from mirrorwatch.migration.positions import write_positions
from tests.mirrorwatch.cli.test_main import config, mirrorwatch
from tests.mirrorwatch.migration.positions import positions

__all__ = ["config"]  # a fixture


def test_a_cluster_that_cannot_be_reached_is_status_4_with_a_sentence(config, tmp_path):
    ended = mirrorwatch("migrate", "export", config, "--flow", "A->B", "--out", tmp_path / "positions.json")
    assert (ended.returncode, ended.stdout) == (4, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith("cluster ")
    assert not (tmp_path / "positions.json").exists()


def test_what_is_no_file_of_positions_is_refused(config, tmp_path):
    file = tmp_path / "positions.json"
    for command in ("plan", "verify"):
        ended = mirrorwatch("migrate", command, config, file)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr.splitlines() == [
            f"{file}: cannot be read (no such file or directory); check its name",
            f"{file} cannot be used with {config}: 1 problem.",
        ]
    file.write_text('{"format": "other", "flow": "A->B"}')
    ended = mirrorwatch("migrate", "plan", config, file)
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) > 5


def test_an_unknown_flow_is_refused_with_the_known_ones(config, tmp_path):
    file = tmp_path / "positions.json"
    write_positions(file, positions())
    ended = mirrorwatch("migrate", "plan", config, file, "--flow", "A->C")
    assert ended.returncode == 2
    assert ended.stderr.startswith("--flow: unknown flow 'A->C'; the flows are ")
