"""The command `drill`: watches the steps of a planned failover, and keeps the record of it."""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import click

from alerts.rehearsals.rehearsal import ReachedStep, Rehearsal
from alerts.rehearsals.tables import keep_rehearsal, rehearsals_between
from fleet.dialect import moment_text
from fleet.errors import ConfigurationError, Problem, RefusedError, UnavailableError
from fleet.quantity import count_text, duration_text
from lagmon.failover.rehearsal import STEPS, Look, Rehearsed
from mirrorwatch.failover.asking import mirrors_of, orders_named, readers_of
from mirrorwatch.failover.facts import read_flow
from mirrorwatch.history.made_store import made_store
from mirrorwatch.service.store_parts import opened
from mirrorwatch.web.texts import plain
from runtime.process.clock import SystemClock
from runtime.process.loop import run_to_end
from runtime.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lagmon.failover.rehearsal import Reached
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.failover.cluster import ClusterReader
    from mirrorwatch.failover.facts import FlowFailover
    from mirrorwatch.failover.mirror_topics import MirrorTopics

_EVERY_S = 2.0


def rehearse(config: Configuration, *, flow: str, groups: tuple[str, ...], limit_s: float) -> int:
    """Watch the steps until all are reached, the limit or Ctrl-C; return the exit status.

    Raises MirrorwatchError if a cluster does not answer at first. Later on it waits until both answer again.
    """
    (order,) = orders_named(config, flow)
    source, target = order.flow.source, order.flow.target
    clock, rehearsed = SystemClock(), Rehearsed(source, target, settle_s=order.flow.settle_s)
    began_at, began_ns, count = clock.wall_s(), clock.monotonic_ns(), 0
    try:
        with ExitStack() as opened_readers:
            readers, (mirror,) = readers_of(config, [order], opened_readers), mirrors_of(config, [order])
            said = ""
            while not rehearsed.is_complete and clock.monotonic_ns() - began_ns < limit_s * 1e9:
                before = list(rehearsed.reached)
                try:
                    found = _seen(readers, mirror, groups, now_ms=round(clock.wall_s() * 1000))
                except (RefusedError, UnavailableError) as error:
                    if not count:
                        raise
                    waits_for = f"an answer: {error}"
                else:
                    count = len(found.groups)
                    rehearsed.see(_look(found, clock.monotonic_ns() / 1e9))
                    waits_for = rehearsed.waits_for
                for line in _changes(before, rehearsed):
                    click.echo(line)
                if waits_for not in ("", said):
                    click.echo(f"      waits for: {plain(waits_for)}")
                said = waits_for
                if not rehearsed.is_complete:
                    time.sleep(_EVERY_S)
    except KeyboardInterrupt:
        click.echo("Ended by Ctrl-C.")
    shift_s = began_at - began_ns / 1e9
    record = Rehearsal(
        order.name,
        began_at,
        clock.wall_s(),
        count,
        rehearsed.is_complete,
        tuple(ReachedStep(one.step, one.at_s + shift_s, one.sentence) for one in rehearsed.reached),
    )
    click.echo(_line(record))
    if not run_to_end(_kept(config, record)):
        click.echo("Not stored: the store is not made yet; start the service first.", err=True)
    return 0 if record.complete else 1


def _seen(
    readers: Mapping[str, ClusterReader], mirror: MirrorTopics, groups: tuple[str, ...], *, now_ms: int
) -> FlowFailover:
    """Return what both clusters show of the groups, or of all; raises MirrorwatchError without an answer.

    A source that does not answer shows no writer and no member, which is no proof that there are none.
    """
    found = read_flow(readers, mirror, wanted=lambda name: not groups or name in groups, now_ms=now_ms)
    if found.source_problem:
        raise UnavailableError(found.source_problem)
    unknown = [name for name in groups if name not in {one.group for one in found.groups}]
    if unknown or not found.groups:
        sentence = f"{', '.join(unknown) or 'no group'}: has no offsets of a topic that the flow replicates"
        raise ConfigurationError([Problem("--group", "", sentence)])
    return found


def print_rehearsals(config: Configuration) -> int:
    """Print the stored rehearsals, newest first; return the exit status."""
    names = [one.name for one in config.topology.flows]
    for line in [*map(_line, run_to_end(_stored(config, names)))] or ["No rehearsals."]:
        click.echo(line)
    return 0


def _look(found: FlowFailover, at_s: float) -> Look:
    waiting = found.waiting.values()
    partitions = {
        (one.facts.topic, one.facts.partition) for group in found.groups for one in group.partitions
    }
    known = len(found.waiting) == len(partitions)
    left = [one.left for one in waiting]
    return Look(
        at_s=at_s,
        ends=sum(one.end for one in waiting) if known else None,
        unreplicated=None if None in left or not known else sum(one or 0 for one in left),
        running=tuple(sorted(found.running_on_source)),
        groups=found.groups,
        not_ready=tuple(one.group for one in found.groups if not found.is_ready(one)),
    )


def _changes(before: list[Reached], rehearsed: Rehearsed) -> Iterator[str]:
    """Yield a line for each step that is reached now, or not any more."""
    kept = [one for one in before if one in rehearsed.reached]
    if len(kept) < len(before):
        yield f"      back at step {len(kept) + 1}"
    for number, one in enumerate(rehearsed.reached[len(kept) :], start=len(kept) + 1):
        yield f"{number} of {len(STEPS)} {one.step}: {plain(one.sentence)}"


def _line(one: Rehearsal) -> str:
    when, took = moment_text(one.began_at), duration_text(round(one.took_s))
    done = "complete" if one.complete else f"{len(one.steps)} of {len(STEPS)} steps"
    return f"{when} {one.flow}, {count_text(one.groups, 'group')}, {done} in {took}: {plain(one.sentence)}"


async def _kept(config: Configuration, record: Rehearsal) -> bool:
    async with opened(config, Store.open_if_made) as store:
        if store is None:
            return False
        await store.write(partial(keep_rehearsal, one=record))
        return True


async def _stored(config: Configuration, flows: list[str]) -> list[Rehearsal]:
    async with made_store(config, Store.open_to_read) as store:
        return await store.read(partial(rehearsals_between, flows=flows, since_at=0.0, until_at=1e12))
