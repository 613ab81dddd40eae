"""Exclusions in the store: add, list, remove."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from alerts.minutes import tables
from alerts.objectives import Exclusion
from alerts.reports.wording import time_text
from fleet.errors import ConfigurationError, Problem
from fleet.probe_history import MINUTE_S
from mirrorwatch.history.made_store import made_store
from mirrorwatch.service.store_parts import opened
from mirrorwatch.web.texts import plain
from runtime.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mirrorwatch.configuration.configuration import Configuration

MAX_AUTHOR, MAX_REASON = 200, 2000
MAX_NUMBER = 2**31 - 1


async def listed(config: Configuration) -> list[str]:
    """Return one line for each exclusion."""
    async with made_store(config, Store.open_to_read) as store:
        found = await store.read(tables.exclusions)
    return [_line(one) for one in found] or ["No excluded time."]


async def remove(config: Configuration, number: int) -> list[str]:
    """Remove an exclusion; raises ConfigurationError for an unknown number."""
    async with made_store(config, Store.open_if_made) as store:
        known = 0 < number <= MAX_NUMBER  # a database refuses others
        removed = known and await store.write(partial(tables.include, number=number))
    if not removed:
        sentence = f"unknown exclusion {number}; see --list"
        raise ConfigurationError([Problem("--remove", "", sentence)])
    return [f"Exclusion {number} removed."]


async def add(config: Configuration, given: Mapping[str, str | None], *, now_at: float) -> list[str]:
    """Store an exclusion from options; raises ConfigurationError with all problems."""
    one = _exclusion(config, given)
    async with opened(config, Store.open) as store:
        assert store is not None
        number = await store.write(partial(tables.exclude, one=one, made_at=now_at))
    return [f"Excluded as number {number}: {one.flow}, {_when(one)}."]


def _exclusion(config: Configuration, given: Mapping[str, str | None]) -> Exclusion:
    problems = [Problem(name, "", "missing") for name, value in given.items() if value is None]
    known = [flow.name for flow in config.topology.flows]
    flow = next((name for name in known if given["--flow"] in {name, name.replace("->", ":")}), None)
    if given["--flow"] is not None and flow is None:
        shown = ", ".join(name.replace("->", ":") for name in known[:5])
        problems.append(Problem("--flow", "", f"unknown flow '{given['--flow'][:100]}'; known are {shown}"))
    first, until = (_minute(name, given[name], problems) for name in ("--from", "--to"))
    if first is not None and until is not None and first >= until:
        problems.append(Problem("--to", "", "must be later than --from"))
    for name, most in (("--author", MAX_AUTHOR), ("--reason", MAX_REASON)):
        text = given[name]
        if text is not None and not 0 < len(text.strip()) <= most:
            problems.append(Problem(name, "", f"must have from 1 to {most:,} characters"))
        elif text is not None and any("\ud800" <= one <= "\udfff" for one in text):
            problems.append(Problem(name, "", "invalid text: not UTF-8; write it in UTF-8"))
    if problems or flow is None or first is None or until is None:
        raise ConfigurationError(problems)
    return Exclusion(0, flow, first, until, given["--author"] or "", given["--reason"] or "")


def _minute(name: str, text: str | None, problems: list[Problem]) -> int | None:
    """Return the minute that contains a start time, or the minute after an end time."""
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        sentence = f"invalid time '{text[:60]}'; write for example 2026-11-27T10:00Z"
        problems.append(Problem(name, "", sentence))
        return None
    seconds = (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
    minute = (math.floor if name == "--from" else math.ceil)(seconds / MINUTE_S)
    try:
        time_text(minute)
    except (OverflowError, ValueError):
        problems.append(
            Problem(name, "", f"'{text[:60]}' is out of range; write a time before the year 10000")
        )
        return None
    return minute


def _line(one: Exclusion) -> str:
    return f"{one.number}  {one.flow}  {_when(one)}  {plain(one.author)}: {plain(one.reason)}"


def _when(one: Exclusion) -> str:
    return f"{time_text(one.first)} to {time_text(one.until)} UTC"
