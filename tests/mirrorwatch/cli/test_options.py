"""Options of several commands: what they refuse, before anything is read from a cluster."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from mirrorwatch.cli.main import cli

CONFIG = """\
clusters: {A: {bootstrap.servers: "127.0.0.1:1"}, B: {bootstrap.servers: "127.0.0.1:2"}}
flows: {A->B: {}}
"""
FLOW_COMMANDS = (
    ("drift",),
    ("failover",),
    ("drill",),
    ("exclude",),
    ("offsets", "translate", "--group", "g"),
    ("offsets", "export", "--group", "g", "--out", "x.json"),
    ("offsets", "reset", "--group", "g", "--to-time", "2026-11-27T10:00Z", "--out", "x.json"),
    ("migrate", "export", "--out", "x.json"),
    ("checksum", "plan", "--all"),
)
NOT_EXCLUDED = FLOW_COMMANDS[:3] + FLOW_COMMANDS[4:-1]
MISSING_ZONE = "the zone is missing; write it as 2026-11-27T17:30:00Z"


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "mirrorwatch.yaml"
    path.write_text(CONFIG)
    return path


def asked(command, config, *options):
    names = command[: 2 if command[0] in {"offsets", "migrate", "checksum"} else 1]
    arguments = [*names, str(config), *command[len(names) :], *options]
    return CliRunner().invoke(cli, arguments, standalone_mode=False)


def refused(command, config, *options):
    """Return the sentence of a usage error."""
    ended = asked(command, config, *options)
    assert isinstance(ended.exception, click.UsageError), (ended.output, ended.exception)
    assert ended.exception.exit_code == 2
    return ended.exception.format_message()


@pytest.mark.parametrize("command", FLOW_COMMANDS, ids=" ".join)
def test_a_flow_that_the_shell_has_cut_is_to_be_quoted(config, command):
    assert "unknown flow 'A-'; quote it: 'A->B', or write A:B" in refused(command, config, "--flow", "A-")


def test_the_alias_of_a_cluster_may_end_in_a_dash(config):
    ended = asked(("drift",), config, "--flow", "A->B-")
    assert ended.output.startswith("--flow: unknown flow 'A->B-'; the flows are A->B")


def commands(group=cli):
    for one in group.commands.values():
        if isinstance(one, click.Group):
            yield from commands(one)
        else:
            yield one


def test_every_flow_is_written_alike_in_the_help():
    flows = [param.metavar for one in commands() for param in one.params if "--flow" in param.opts]
    assert len(flows) > 10
    assert set(flows) == {"A:B"}


@pytest.mark.parametrize("command", NOT_EXCLUDED, ids=" ".join)
def test_a_mistake_of_the_command_line_is_not_one_of_the_configuration(config, command):
    ended = asked(command, config, "--flow", "A:C")
    assert ended.return_value == 2
    assert ended.output.splitlines() == [
        "--flow: unknown flow 'A:C'; the flows are A->B",
        "Nothing was done: 1 problem.",
    ]


@pytest.mark.parametrize(
    ("command", "option", "value", "said"),
    [
        (("trace",), "--time", "2026-11-27T10:00", f"'2026-11-27T10:00': {MISSING_ZONE}"),
        (("trace",), "--time", "2026-11-27", f"'2026-11-27': {MISSING_ZONE}"),
        (("offsets", "reset"), "--to-time", "2026-11-27T10:00:00", MISSING_ZONE),
        (("check",), "--principal", "ann", "invalid principal 'ann'; write TYPE:NAME, such as User:ann"),
        (("check",), "--principal", "User:", "invalid principal 'User:'"),
        (("check",), "--command-config", "{clstr}.p", "unknown variable '{clstr}'; write {cluster} for"),
    ],
)
def test_an_invalid_value_is_refused(config, command, option, value, said):
    assert said in refused(command, config, option, value)


@pytest.mark.parametrize(
    ("command", "options", "said"),
    [
        (("check",), ["--for", "drift"], "--for needs --acls."),
        (("check",), ["--command-config", "x"], "--command-config needs --acls."),
        (("check",), ["--command-config", "x", "--json"], "--command-config needs --acls."),
        (("check",), ["--principal", "User:ann"], "--principal needs --acls or --json."),
        (("status",), ["--interval", "5s"], "--interval needs --watch."),
    ],
)
def test_an_option_without_effect_is_refused(config, command, options, said):
    assert said in refused(command, config, *options)


def test_permissions_are_printed_for_a_principal_and_a_file_of_each_cluster(config):
    options = ["--acls", "--for", "drift", "--principal", "User:ann", "--command-config", "{cluster}.p"]
    ended = asked(("check",), config, *options)
    assert ended.return_value == 0
    assert "--command-config A.p" in ended.output
    assert "User:ann" in ended.output
