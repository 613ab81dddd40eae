"""The commands `offsets translate`, `export`, `reset` and `apply`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet.dialect import moment_ms, moment_ms_text
from fleet.errors import ConfigurationError, Problem, UnavailableError
from fleet.quantity import between_text, count_text
from lagmon.failover.translation import Basis, translate_offset
from mirrorwatch.check.sheet import Sheet
from mirrorwatch.cli.surroundings import make_console
from mirrorwatch.failover.applying import changes_of, replaced
from mirrorwatch.failover.asking import ask_flows
from mirrorwatch.failover.cluster import ClusterReader
from mirrorwatch.failover.offsets_file import exported, exported_at, read_offsets, write_offsets
from mirrorwatch.failover.text import by_checkpoints_text
from runtime.kafka.positions import Which
from runtime.process.clock import SystemClock
from runtime.process.logs import Redactor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.failover.facts import FlowFailover
    from mirrorwatch.failover.offsets_file import Position


def print_translation(config: Configuration, *, flow: str, group: str) -> int:
    """Print a group's offsets on the target; return the exit status."""
    found = _asked(config, flow, group)
    sheet = Sheet(make_console(), Redactor(config.secrets))
    sheet.heading(f"{group} on {found.flow.target}, from its committed offsets on {found.flow.source}")
    if by_checkpoints := _by_checkpoints(found):
        sheet.say(by_checkpoints)
    rows, complete = [], True
    for facts in found.groups[0].by_place():
        translated = translate_offset(facts)
        complete = complete and translated is not None
        again = None if translated is None else translated.again_most
        rows.append(
            (
                f"{found.flow.remote_topic(facts.topic)}-{facts.partition}",
                _offset(facts.committed),
                _offset(None if facts.checkpoint is None else facts.checkpoint.downstream),
                _offset(facts.target_committed),
                _offset(None if translated is None else translated.offset),
                "unknown" if translated is None else translated.basis,
                "?" if again is None else between_text(0, again),
            )
        )
    sheet.figures(("partition", "source", "checkpoint", "committed", "offset", "basis", "reads again"), rows)
    return 0 if complete else 1


def export_offsets(config: Configuration, *, flow: str, group: str, out: Path) -> int:
    """Write a group's offsets into a file; return the exit status."""
    found = _asked(config, flow, group)
    file, unknown = exported(found, now_ms=_now_ms())
    write_offsets(out, file)
    exact = sum(one.basis is Basis.EXACT for one in file.positions)
    total = count_text(len(file.positions), "partition")
    click.echo(f"{out}: {total} of {group} on {found.flow.target}, {exact} of them exact.")
    if by_checkpoints := _by_checkpoints(found):
        click.echo(by_checkpoints, err=True)
    if unknown:
        click.echo(f"No offset is known for {', '.join(unknown)}; see 'mirrorwatch failover'.", err=True)
    return 1 if unknown else 0


def reset_offsets(config: Configuration, *, flow: str, group: str, to_time: str, out: Path) -> int:
    """Write the offsets of a moment on the target into a file; return the exit status."""
    try:
        at_ms = moment_ms(to_time)
    except (ValueError, OverflowError):
        sentence = f"invalid moment '{to_time[:60]}'; write for example 2026-11-27T10:00:00Z"
        raise ConfigurationError([Problem("--to-time", "", sentence)]) from None
    if at_ms > _now_ms():
        sentence = f"{moment_ms_text(at_ms)} is in the future: no record can be that new"
        raise ConfigurationError([Problem("--to-time", "", sentence)])
    found = _asked(config, flow, group, any_group=True)
    target, there = found.flow.target, found.groups[0].by_place()
    places = [(found.flow.remote_topic(one.topic), one.partition) for one in there if one.on_target]
    with ClusterReader(target, config.clients[target], SystemClock()) as reader:
        offsets = reader.offsets_since(places, at_ms)
        ends = reader.offsets(places, Which.END)
    file, missing = exported_at(found, offsets, ends, now_ms=_now_ms())
    write_offsets(out, file)
    total, since = count_text(len(file.positions), "partition"), moment_ms_text(at_ms)
    click.echo(f"{out}: {total} of {group} on {target}, at the first record since {since}.")
    at_end = sum(one.basis == "end" for one in file.positions)
    if at_end:
        click.echo(f"{at_end} of them have no record since then, and are at the log end.", err=True)
    if missing:
        click.echo(f"Not on {target}: {', '.join(missing)}.", err=True)
    return 1 if missing else 0


def apply_offsets(config: Configuration, *, file: Path, execute: bool) -> int:
    """Compare a file with the target and commit its offsets if `execute`; return the exit status."""
    offsets = read_offsets(file)
    flow = next((one for one in config.topology.flows if one.name == offsets.flow), None)
    if flow is None:
        raise ConfigurationError(
            [Problem(str(file), "flow", f"unknown flow '{offsets.flow}' in this configuration")]
        )
    with ClusterReader(flow.target, config.clients[flow.target], SystemClock()) as target:
        changes = changes_of(offsets, target, path=str(file))
        if not changes:
            click.echo(f"Nothing to do: {offsets.group} has these offsets on {flow.target}.")
            return 0
        _print_changes(config, changes)
        if not execute:
            click.echo("Nothing was changed; commit these offsets with --execute.")
            return 1
        at = moment_ms_text(_now_ms()) or ""
        undo = file.with_name(f"{file.name}.replaced-{at.replace(':', '')}")
        write_offsets(undo, replaced(offsets, changes, at=at))
        try:
            failed = target.commit(offsets.group, {(one.topic, one.partition): one.offset for one in changes})
        except UnavailableError as error:
            unknown = f"it is unknown whether the offsets are committed; run it again. {undo} has the offsets"
            raise UnavailableError(f"{error}; {unknown} of before.") from error
    done = count_text(len(changes) - len(failed), "offset")
    click.echo(f"Committed {done} of {offsets.group} on {flow.target}. {undo} has the offsets of before.")
    for place, why in failed.items():
        click.echo(f"{place[0]}-{place[1]}: not committed: {why}", err=True)
    return 1 if failed else 0


def _by_checkpoints(found: FlowFailover) -> str:
    """Return why the offsets are by checkpoints alone; "" if they are not."""
    if found.source_problem:
        return f"By the last checkpoints, because {found.flow.source} was not read: {found.source_problem}"
    if found.by_checkpoints:
        return f"The group {by_checkpoints_text(found.flow)}."
    return ""


def _asked(config: Configuration, flow: str, group: str, *, any_group: bool = False) -> FlowFailover:
    (found,), _ = ask_flows(config, flow=flow, group=group, any_group=any_group)
    return found


def _print_changes(config: Configuration, changes: Sequence[Position]) -> None:
    sheet = Sheet(make_console(), Redactor(config.secrets))
    rows = [
        (f"{one.topic}-{one.partition}", _offset(one.current), f"{one.offset}", one.basis) for one in changes
    ]
    sheet.figures(("partition", "committed", "new offset", "basis"), rows)


def _offset(offset: int | None) -> str:
    return "none" if offset is None else f"{offset}"


def _now_ms() -> int:
    return round(SystemClock().wall_s() * 1000)
