"""What every checksum command needs: configuration, clients, clock, and output."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any

from checksum.inventory.connections import Wire
from checksum.inventory.waiting import WaitPolicy
from checksum.plan.building import COMMAND_LINE, NamedIn, PlanRules, check_max_bytes
from checksum.spark.paths import is_absolute, is_local
from fleet.dialect import flow_name
from fleet.errors import ConfigurationError, Problem
from fleet.mm2.filters import PatternList
from mirrorwatch.check.sheet import Sheet
from mirrorwatch.checksums.progress import Lines
from mirrorwatch.checksums.results.files import place_of, reason_of, replace_file, why_not_writable
from runtime.process.clock import SystemClock
from runtime.process.logs import Redactor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from checksum.config import ChecksumConfig
    from checksum.digest.slices import Pause
    from checksum.inventory.connections import Connects
    from checksum.plan.shape import Plan
    from fleet.verdicts.flow import Flow
    from mirrorwatch.checksums.progress import ProgressDisplay
    from mirrorwatch.checksums.results.reporting import NotReported
    from mirrorwatch.configuration.configuration import Configuration
    from runtime.process.clock import Clock

    Outlet = Callable[["Session", dict[str, Any]], int]
    Service = Callable[[Mapping[str, Any]], NotReported | None]

OK, FINDING, BAD_CONFIGURATION, INCOMPLETE, UNAVAILABLE = 0, 1, 2, 3, 4
LEAST_MEMORY_MIB = 512  # Spark refuses less than 450 MiB of Java's heap, which is a little less than this
_WORST_FIRST = (BAD_CONFIGURATION, FINDING, INCOMPLETE, UNAVAILABLE)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The topics and flows to compare.

    `patterns` is None for every replicated topic; `named_in` is where the patterns come from.
    """

    flows: tuple[Flow, ...]
    patterns: tuple[str, ...] | None
    named_in: NamedIn


@dataclass(frozen=True, slots=True)
class Session:
    """What a command works with.

    `pause` waits between two checks. `shows` displays progress (None: as lines of text). `outlets` receive
    the finished result and return an exit status. `service` receives each run and returns why that failed, if
    it did (None: no service).
    """

    config: Configuration
    settings: ChecksumConfig
    sheet: Sheet
    connects: Connects
    clock: Clock
    pause: Pause
    shows: ProgressDisplay | None = None
    outlets: tuple[Outlet, ...] = ()
    service: Service | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @property
    def shown(self) -> ProgressDisplay:
        """Return what displays progress."""
        return self.shows or Lines(self.sheet, self.clock)

    @property
    def rules(self) -> PlanRules:
        """Return the settings that apply to every topic of a plan."""
        return PlanRules(
            cells=self.settings.cells,
            bucket_ms=round(self.settings.bucket * 1000),
            excluded_headers=tuple(self.settings.exclude_headers),
        )

    def wait_policy(self, flow: Flow) -> WaitPolicy:
        """Return how long a plan waits for MirrorMaker: the canary's horizon and one offset flush."""
        return WaitPolicy(
            self.config.canary.horizon + flow.offset_flush_interval_s,
            self.clock,
            lambda sentence: self.sheet.say(f"{flow.name}: {sentence}", indent=0),
            self.sleep,
        )

    def equal_offsets(self, flow: Flow) -> bool:
        """Return whether the mirror of a flow keeps offsets."""
        source = self.config.lag_sources.get(flow.name)
        return source is not None and source.lag_from == "equal-offsets"

    def chosen(self, flows: Sequence[str], topics: Sequence[str], *, everything: bool) -> Chosen:
        """Return what the command line and the configuration select; raises ConfigurationError."""
        if everything and topics:
            raise option_error("--all", "cannot be combined with --topic; remove one of the two")
        for pattern in topics:
            _check_pattern(pattern)
        patterns = None if everything else tuple(topics or self.settings.topics)
        if patterns is not None and not patterns:
            raise option_error("--topic", "missing; name topics here or in checksum.topics, or use --all")
        found = tuple(dict.fromkeys(self.flow(name) for name in flows)) or self.config.topology.flows
        return Chosen(
            found, patterns, COMMAND_LINE if topics else NamedIn(str(self.config.path), "checksum.topics")
        )

    def check_max_bytes(self, plan: Plan) -> None:
        """Raise ConfigurationError if a side would read more than `checksum.max_bytes`."""
        check_max_bytes(plan, max_bytes=self.settings.max_bytes, file=str(self.config.path))

    def flow(self, name: str) -> Flow:
        """Return the flow named A:B; raises ConfigurationError if it is unknown."""
        if name.endswith("-"):
            raise option_error(
                "--flow",
                f"invalid flow '{name[:60]}': the shell took '>' of A->B as a redirection; write"
                f" {name[:60].rstrip('-')}:B",
            )
        spelled = flow_name(name)
        known = {flow.name: flow for flow in self.config.topology.flows}
        if spelled not in known:
            several = ", ".join(one.replace("->", ":", 1) for one in sorted(known))
            raise option_error("--flow", f"unknown flow '{name[:60]}'; the flows are {several}")
        return known[spelled]

    def flow_of(self, plan: Plan, file: Path) -> Flow:
        """Return the flow of a plan from a file; raises ConfigurationError if it is unknown."""
        found = {flow.name: flow for flow in self.config.topology.flows}.get(plan.flow)
        if found is None or (found.source, found.target) != (plan.source, plan.target):
            raise ConfigurationError(
                [Problem(str(file), "flow", f"unknown flow {plan.flow}; add it to {self.config.path}")]
            )
        return found


def _check_pattern(text: str) -> None:
    """Raise ConfigurationError for a pattern that cannot match any topic."""
    try:
        entries = PatternList(text).entries
    except ValueError as error:
        raise option_error("--topic", str(error)) from error
    if not entries:
        raise option_error("--topic", "empty pattern; write a topic name or a Java regular expression")


def make_session(config: Configuration, console: Console) -> Session:
    """Return what a command works with, with real clients."""
    # Errors already contain what clients log about connections. Py4J logs to the root logger.
    for client in ("rdkafka", None):
        logging.getLogger(client).addHandler(logging.NullHandler())
    settings = config.checksum
    clock = SystemClock()
    return Session(
        config,
        settings,
        Sheet(console, Redactor(config.secrets)),
        Wire(dict(config.clients), client_id=settings.client_id, clock=clock),
        clock,
        Event().wait,
    )


def option_error(option: str, sentence: str) -> ConfigurationError:
    """Return the error for a command line option."""
    return ConfigurationError([Problem("the command line", option, sentence)])


def worst(statuses: Iterable[int]) -> int:
    """Return the exit status of several parts: 2 before 1 before 3 before 4."""
    found = set(statuses)
    return next((status for status in _WORST_FIRST if status in found), OK)


def with_failed_output(status: int) -> int:
    """Return the exit status if the result could not be stored, written or reported."""
    return status if status in (BAD_CONFIGURATION, FINDING) else UNAVAILABLE


def check_writable(path: Path | None, option: str = "--json") -> None:
    """Raise ConfigurationError if a file cannot be written; called before hours of work."""
    why = None if path is None else why_not_writable(path)
    if why is not None:
        raise option_error(option, why)


def check_distinct(files: Mapping[str, Path | None]) -> None:
    """Raise ConfigurationError if two options, the keys, name the same file; devices may be the same."""
    known: dict[Path, str] = {}
    for option, path in files.items():
        place = None if path is None else place_of(path)
        if place is None:
            continue
        if place in known:
            raise option_error(option, f"same file as {known[place]}; name another one")
        known[place] = option


def check_folder(folder: str, option: str) -> None:
    """Raise ConfigurationError if a digest's folder is empty or the root of a file system."""
    if not folder.strip():  # Spark takes it as the root of the file system
        raise option_error(option, "missing; name the digest's folder")
    if not re.sub("^file:", "", folder.strip()).strip("/"):
        raise option_error(
            option, "cannot be the root of the file system; name a folder for this digest only"
        )


def check_memory(size: str) -> None:
    """Raise ConfigurationError for an invalid memory size, or one too small for Spark."""
    found = re.fullmatch(r"([1-9][0-9]{0,6})([mMgG])", size)
    if found is None:
        raise option_error("--driver-memory", f"invalid size '{size[:60]}'; write it as 512m or 2g")
    if int(found[1]) * (1024 if found[2] in "gG" else 1) < LEAST_MEMORY_MIB:
        raise option_error(
            "--driver-memory", f"must be at least {LEAST_MEMORY_MIB}m; Spark does not start with less"
        )


def check_master(master: str, folder: str | None, option: str = "--folder") -> None:
    """Raise ConfigurationError if Spark's machines would have no folder for digests.

    A relative folder would mean a different place to the driver, to executors and to a shared file system.
    """
    if folder is not None:
        check_folder(folder, option)
    if is_local(master):
        return
    if folder is None:
        raise option_error(
            option, f"missing; name a folder that Spark's machines at {master[:60]} can write to"
        )
    if not is_absolute(folder):
        raise option_error(
            option,
            f"cannot be the relative path '{folder[:60]}', as Spark runs at {master[:60]}; write it as"
            " /a/path or hdfs://host/path",
        )


def write_json(session: Session, path: Path | None, document: dict[str, Any], status: int) -> int:
    """Write a document, pass it to the outlets, and return the exit status."""
    went = [] if path is None else [write_text(session, path, json.dumps(document, indent=2) + "\n")]
    went += [outlet(session, document) for outlet in session.outlets]
    return with_failed_output(status) if any(went) else status


def write_text(session: Session, path: Path, text: str) -> int:
    """Write a file, and return the exit status that follows."""
    try:
        replace_file(path, text)
    except OSError as error:
        session.sheet.say(f"{path}: cannot write: {reason_of(error)}. The result is printed above.", indent=0)
        return UNAVAILABLE
    return OK
