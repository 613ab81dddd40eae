"""The command `render`: which files it writes, and on which clock."""

from __future__ import annotations

import yaml
from click.testing import CliRunner

from mirrorwatch.cli.main import cli

CONFIG = """\
clusters: {A: {bootstrap.servers: "a:9092"}, B: {bootstrap.servers: "b:9092"}}
flows: {A->B: {topics: ".*"}}
mirror_version: "4.3"
"""


def rendered(tmp_path, *options):
    config = tmp_path / "mirrorwatch.yaml"
    config.write_text(CONFIG)
    folder = tmp_path / "monitoring"
    ended = CliRunner().invoke(cli, ["render", str(config), str(folder), *options], standalone_mode=False)
    assert ended.return_value == 0, (ended.output, ended.exception)
    paths = (path for path in folder.rglob("*.yml") if path.is_file())
    return {str(path.relative_to(folder)): yaml.safe_load(path.read_text()) for path in paths}


def alert(files, name):
    groups = files["prometheus/mirrorwatch.rules.yml"]["groups"]
    (found,) = [rule for group in groups for rule in group["rules"] if rule.get("alert") == name]
    return found


def test_times_are_those_of_the_page_unless_they_are_divided(tmp_path):
    files = rendered(tmp_path)
    assert "prometheus/mirrorwatch.rules.test.yml" in files
    assert alert(files, "MirrorwatchReplicationStalled")["for"] == "1m"
    assert files["prometheus/scrape.yml"]["scrape_configs"][0]["scrape_interval"] == "15s"
    (ours,) = files["alertmanager/alertmanager.yml"]["route"]["routes"]
    assert ours["group_wait"] == "15s"


def test_a_faster_clock_divides_them_all_and_writes_no_tests_of_the_usual_one(tmp_path):
    files = rendered(tmp_path, "--divide-times", "15")
    assert "prometheus/mirrorwatch.rules.test.yml" not in files
    assert alert(files, "MirrorwatchReplicationStalled")["for"] == "4s"
    assert files["prometheus/scrape.yml"]["scrape_configs"][0]["scrape_interval"] == "1s"
    (ours,) = files["alertmanager/alertmanager.yml"]["route"]["routes"]
    assert ours["group_wait"] == "1s"
    assert ours["routes"][0]["group_wait"] == "0s"
