"""The command `render`: which files it writes, and on which clock."""

from __future__ import annotations

import pytest
import yaml
from click.testing import CliRunner

from mirrorwatch.cli.main import cli

CONFIG = """\
clusters: {A: {bootstrap.servers: "a:9092"}, B: {bootstrap.servers: "b:9092"}}
flows: {A->B: {topics: ".*"}}
mirror_version: "4.3"
"""


def command(tmp_path, *options, more=""):
    config = tmp_path / "mirrorwatch.yaml"
    config.write_text(CONFIG + more)
    arguments = ["render", str(config), str(tmp_path / "monitoring"), *options]
    ended = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert ended.return_value == 0, (ended.output, ended.exception)
    return ended.output


def test_a_replay_writes_nothing_in_no_format(tmp_path):
    (tmp_path / "mirrorwatch.yaml").write_text(CONFIG)
    for option in (["--format", "kubernetes"], ["--divide-times", "15"]):
        arguments = ["render", str(tmp_path / "mirrorwatch.yaml"), "--replay", *option]
        ended = CliRunner().invoke(cli, arguments)
        assert ended.exit_code == 2
        assert "--replay writes nothing: leave out --format and --divide-times." in ended.output


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    config, folder = tmp_path / "mirrorwatch.yaml", tmp_path / "mirrorwatch.yaml" / "monitoring"
    config.write_text(CONFIG)
    ended = CliRunner().invoke(cli, ["render", str(config), str(folder)], standalone_mode=False)
    assert ended.return_value == 2
    assert ended.output.splitlines() == [
        f"{folder}: cannot be written (not a directory); choose another folder",
        "Nothing was done: 1 problem.",
    ]


def rendered(tmp_path, *options, more=""):
    command(tmp_path, *options, more=more)
    folder = tmp_path / "monitoring"
    paths = (path for path in folder.rglob("*.yml") if path.is_file())
    return {str(path.relative_to(folder)): yaml.safe_load(path.read_text()) for path in paths}


def alert(files, name):
    groups = files["prometheus/mirrorwatch.rules.yml"]["groups"]
    (found,) = [rule for group in groups for rule in group["rules"] if rule.get("alert") == name]
    return found


def test_times_are_those_of_the_page_unless_they_are_divided(tmp_path):
    files = rendered(tmp_path)
    assert "prometheus/mirrorwatch.rules.test.yml" in files
    assert alert(files, "MirrorwatchTaskFailed")["for"] == "1m"
    assert files["prometheus/scrape.yml"]["scrape_configs"][0]["scrape_interval"] == "15s"
    (ours,) = files["alertmanager/alertmanager.yml"]["route"]["routes"]
    assert ours["group_wait"] == "15s"


def test_a_faster_clock_divides_them_all_and_writes_no_tests_of_the_usual_one(tmp_path):
    files = rendered(tmp_path, "--divide-times", "15")
    assert "prometheus/mirrorwatch.rules.test.yml" not in files
    assert alert(files, "MirrorwatchTaskFailed")["for"] == "4s"
    assert files["prometheus/scrape.yml"]["scrape_configs"][0]["scrape_interval"] == "1s"
    (ours,) = files["alertmanager/alertmanager.yml"]["route"]["routes"]
    assert ours["group_wait"] == "1s"
    assert ours["routes"][0]["group_wait"] == "0s"


def job(files):
    (found,) = files["prometheus/scrape.yml"]["scrape_configs"]
    return found


def test_prometheus_is_told_of_tls_and_users(tmp_path):
    assert {"scheme", "basic_auth"}.isdisjoint(job(rendered(tmp_path)))
    # Certificate and key do not exist: only the service may be able to read them.
    (tmp_path / "web.yml").write_text(
        "tls_server_config: {cert_file: server.crt, key_file: server.key}\n"
        f'basic_auth_users: {{zoe: "$2b$04${"e" * 53}", ann: "$2b$04${"e" * 53}"}}\n'
    )
    files = rendered(tmp_path, more='http: {listen: "10.0.0.5:9699", web_config_file: web.yml}\n')
    assert job(files)["scheme"] == "https"
    assert job(files)["basic_auth"] == {
        "username": "ann",
        "password_file": "/etc/prometheus/mirrorwatch-password",
    }
    links = alert(files, "MirrorwatchClusterDown")["annotations"]
    assert links["runbook_url"] == "https://10.0.0.5:9699/runbooks/MirrorwatchClusterDown"
    for serving in (["run"], ["check", "--no-connect"]):
        ended = CliRunner().invoke(cli, [*serving, str(tmp_path / "mirrorwatch.yaml")], standalone_mode=False)
        assert ended.return_value == 2
        assert "server.key: cannot be read (no such file or directory)" in ended.output


def test_every_replica_of_a_group_is_scraped(tmp_path):
    scrape, said = (
        tmp_path / "monitoring" / "prometheus" / "scrape.yml",
        "address of every replica of the group",
    )
    command(tmp_path)
    assert said not in scrape.read_text()
    command(tmp_path, more='store: {url: "postgresql://u:p@db/mw", group: one}\n')
    assert said in scrape.read_text()


@pytest.mark.parametrize(
    ("http", "warned"),
    [
        ('{listen: "0.0.0.0:9699", insecure: true}', True),
        ('{listen: ":9699", insecure: true}', True),
        ('{listen: "[::]:9699", insecure: true}', True),
        ('{listen: "0.0.0.0:9699", insecure: true, external_url: "https://mw.example.org"}', False),
        ('{listen: "10.0.0.5:9699", insecure: true}', False),
        ('{listen: "127.0.0.1:9699"}', False),
    ],
)
def test_links_to_an_address_that_is_none_are_warned_about(tmp_path, http, warned):
    said = command(tmp_path, more=f"http: {http}\n")
    assert ("warning: http.external_url: missing" in said) is warned


def test_the_audit_of_failover_has_an_alert_only_if_there_is_an_audit(tmp_path):
    assert alert(rendered(tmp_path), "MirrorwatchFailoverAuditOld")["for"] == "15m"
    files = rendered(tmp_path, more="failover: {audit: false}\n")
    with pytest.raises(ValueError, match="not enough values"):
        alert(files, "MirrorwatchFailoverAuditOld")
