"""What a command of the checksum keeps in the store of the configuration: its run, and what it comes to.

The store is asked from a thread of its own, where it is open for as long as the command lasts, and where the
run's heart beats while Spark reads and Python compares. A store whose folder cannot be written is left alone:
then nothing is kept, and each run compares everything anew.
"""

from __future__ import annotations

import os
import socket
import uuid
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checksum.book.book import LEASE_S, ChecksumBook
from checksum.plan.planning import Before
from checksum.report.result_document import of_run
from fleet.errors import ConfigurationError, MirrorwatchError, Problem, UnavailableError
from lagmon.syncs.tables import cursor_of
from mirrorwatch.audits.flow_audit import newest_finding
from mirrorwatch.checksums.folder import PlanFolder, folder_beside
from mirrorwatch.checksums.results.files import reason_of
from mirrorwatch.checksums.syncs import StoredSyncs
from mirrorwatch.checksums.threads import AskingThread, Heart
from mirrorwatch.service.store_parts import MIGRATIONS
from runtime.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
    from typing import TypeVar

    from checksum.book.book import Counted, OpenRun, RunRow, VerifiedTo
    from checksum.book.entries import Place
    from fleet.verdicts.flow import Flow
    from mirrorwatch.checksums.desk import Desk

    T = TypeVar("T")

HEART_S = 15.0
LIMIT_S = 60.0  # of one operation: a run of a hundred thousand partitions writes as many rows at once
MOST_RUNS = 1000  # of a flow that are looked at for what was found: a month of hours


class State:
    """What is kept for the flows of one command; without a store nothing is, and `why_none` says why."""

    def __init__(self, desk: Desk, store: Store | None, *, folder: Path | None, why_none: str = "") -> None:
        self.why_none = why_none
        self._desk = desk
        self._store = store
        self._folder = folder
        self._asking = AskingThread()
        self._runs: list[Run] = []
        self._late: set[str] = set()

    def open(self, *, only_if_made: bool) -> None:
        """Open the store, where there is one; raises UnavailableError where it cannot be used."""
        self._asking.start()
        if self._store is None:
            return
        if not only_if_made:
            self.ask(self._store.open())
        elif not self.ask(self._store.open_if_made()):
            self._store = None

    def begin(self, flow: Flow, *, counts_only: bool = False) -> Run:
        """Begin a run of a flow; raises UnavailableError while another one is on, or the store fails.

        Where one may be on whose machine's clock is another, it waits until that is known.
        """
        if self._store is None:
            return Run(self, uuid.uuid4().hex, flow.name, self.now_ms(), counts_only=counts_only)
        book = ChecksumBook(self._store)
        silent = self._silent(book, flow)
        begun_ms = self.now_ms()
        begun = self.ask(
            book.begin(flow.name, who=who(), now_ms=begun_ms, counts_only=counts_only, silent=silent)
        )
        run = Run(self, begun, flow.name, begun_ms, book=book, counts_only=counts_only)
        self._runs.append(run)
        run.start()
        run.before = self.before(flow)
        if self._folder is not None and not counts_only:
            run.plans = PlanFolder(self._folder, warn=self._desk.sheet.say)
        return run

    def _silent(self, book: ChecksumBook, flow: Flow) -> list[OpenRun]:
        """Return runs of which no sign is to be seen for LEASE_S, where their own clocks do not tell."""
        doubtful = self.ask(book.doubtful(flow.name, now_ms=self.now_ms()))
        if doubtful:
            self._desk.sheet.say(
                f"{flow.name}: a run on {doubtful[0].who} has given no sign for {LEASE_S:g} s, if the clocks"
                f" of both machines agree: {LEASE_S:g} s are waited for one.",
                indent=0,
            )
            self._desk.pause(LEASE_S)
        return doubtful

    def look(self, flow: Flow) -> Run:
        """Return what stands for a run that is not begun: it knows what is known, and writes nothing."""
        run = Run(self, "", flow.name, self.now_ms())
        run.before = self.before(flow)
        return run

    def before(self, flow: Flow) -> Before:
        """Return what is known of a flow from before."""
        store = self._store
        if store is None:
            return Before()

        def read(function: Callable[..., Any]) -> Any:
            return self.ask(store.read(function))

        verified = self.ask(ChecksumBook(store).verified(flow.name))
        return Before(verified, StoredSyncs(flow.name, read(partial(cursor_of, flow=flow.name)), read))

    def last_finding(self, flow: Flow) -> RunRow | None:
        """Return the newest run of a flow that found something which no later run took back.

        None where none is known, and for one that stands among those which this command tells itself.
        """
        if self._store is None:
            return None
        found = newest_finding(self.ask(ChecksumBook(self._store).runs(flow.name, limit=MOST_RUNS)))
        return None if found is None or found.run in self._late else found

    def untold(self, flows: Iterable[Flow]) -> list[RunRow]:
        """Return the finished runs of these flows that their commands did not come to tell of."""
        if self._store is None:
            return []
        book = ChecksumBook(self._store)
        found = [one for flow in flows for one in self.ask(book.untold(flow.name))]
        self._late = {one.run for one in found}
        return found

    def tell(self, runs: Iterable[str]) -> None:
        """Note that these runs were told, and those that were `untold`.

        Where this fails they are told once more, which is better than never.
        """
        store, told = self._store, {*runs, *self._late}
        if store is not None and told:
            _quietly(lambda: self.ask(ChecksumBook(store).tell(told)))

    def owe(self, runs: Collection[str]) -> None:
        """Note that the service, where one is told, is owed these runs of earlier commands."""
        store = self._store
        if store is not None and runs and self.tells_service:
            _quietly(lambda: self.ask(ChecksumBook(store).owe(runs)))

    def owed(self, flows: Iterable[Flow]) -> Iterator[RunRow]:
        """Give the runs of these flows that a service is owed, each read once it is its turn.

        None where the store fails: they wait for the next command.
        """
        if self._store is None:
            return
        book = ChecksumBook(self._store)
        try:
            for flow in flows:
                for run in self.ask(book.owed(flow.name)):
                    found = self.ask(book.run_to_tell(run))
                    if found is not None:
                        yield found
        except UnavailableError:
            return

    def heard(self, runs: Collection[str]) -> None:
        """Note that a service is owed these runs no more; where this fails it is told once more."""
        store = self._store
        if store is not None and runs:
            _quietly(lambda: self.ask(ChecksumBook(store).heard(runs)))

    def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """Have the store do something, and wait for it."""
        return self._asking.do(work)

    def now_ms(self) -> int:
        """Return the time now, in epoch ms."""
        return int(self._desk.clock.wall_s() * 1000)

    @property
    def tells_service(self) -> bool:
        """Tell whether a service is to be told of what this command finds."""
        return self._desk.service is not None

    @property
    def keeps_ms(self) -> int:
        """Return for how long runs are kept."""
        return int(self._desk.config.store.keep.findings * 1000)

    def close(self) -> None:
        """Give up runs that did not finish, and close the store."""
        try:
            for run in self._runs:
                run.give_up()
            if self._store is not None:
                self.ask(self._store.close())
        finally:
            self._asking.end()


class Run:
    """One run of a flow; `before` is what it begins with, `plans` keeps its plan, None: nowhere."""

    def __init__(
        self,
        state: State,
        run: str,
        flow: str,
        begun_ms: int,
        *,
        book: ChecksumBook | None = None,
        counts_only: bool = False,
    ) -> None:
        self.before = Before()
        self.plans: PlanFolder | None = None
        self._state = state
        self._run = run
        self._flow = flow
        self._begun_ms = begun_ms
        self._book = book
        self._counts_only = counts_only
        self._ended = book is None
        self._heart = Heart(self._beat, every_s=HEART_S) if book is not None else None

    def start(self) -> None:
        """Give signs of life from now on."""
        if self._heart is not None:
            self._heart.start()

    def planned(self, plan_id: str) -> None:
        """Tell others by which plan it works; whether they hear it changes nothing."""
        self._beat(plan_id)

    def document(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return what it found with what it is itself; it ends now."""
        ended_ms = max(self._state.now_ms(), self._begun_ms)
        return of_run(
            found,
            run=self._run,
            begun_ms=self._begun_ms,
            ended_ms=ended_ms,
            who=who(),
            counts_only=self._counts_only,
        )

    def finish(
        self, document: Mapping[str, Any], verified: Mapping[Place, VerifiedTo], counts: Iterable[Counted]
    ) -> MirrorwatchError | None:
        """Write what it comes to, at once; return why that failed, None where it did not."""
        book, state = self._book, self._state
        if book is None:
            return None
        self._stop()
        try:
            state.ask(
                book.finish(
                    self._run,
                    now_ms=state.now_ms(),
                    status=document["status"],
                    document=document,
                    verified=verified,
                    counts=counts,
                    owed=state.tells_service,
                )
            )
        except MirrorwatchError as error:
            return error
        self._ended = True
        self._tidy(book)
        return None

    def give_up(self) -> None:
        """Have it end with nothing to tell, where it has not ended."""
        self._stop()
        if self._book is not None and not self._ended:
            self._ended = True
            _quietly(lambda: self._state.ask(self._book.give_up(self._run)) if self._book else None)

    def _tidy(self, book: ChecksumBook) -> None:
        now_ms = self._state.now_ms()
        _quietly(lambda: self._state.ask(book.forget(now_ms - self._state.keeps_ms)))
        plans = self.plans
        if plans is not None:
            _quietly(lambda: plans.forget_old(now_ms, on=self._state.ask(book.flows_on(now_ms))))

    def _beat(self, plan: str | None = None) -> None:
        book, state = self._book, self._state
        if book is not None:
            _quietly(lambda: state.ask(book.beat(self._run, state.now_ms(), plan=plan)))

    def _stop(self) -> None:
        if self._heart is not None:
            self._heart.stop()


@contextmanager
def state_for(desk: Desk, *, only_if_made: bool = False) -> Iterator[State]:
    """Give what the store of the configuration keeps; what did not finish is given up with the block.

    With `only_if_made` no store is made. Raises UnavailableError where there is one that cannot be used.
    """
    state = _state(desk, only_if_made=only_if_made)
    try:
        state.open(only_if_made=only_if_made)
        yield state
    finally:
        state.close()


def who() -> str:
    """Return on which machine and in which process this is, for people."""
    return f"{socket.gethostname()}, process {os.getpid()}"


def _state(desk: Desk, *, only_if_made: bool) -> State:
    config = desk.config
    address = config.store.database_url(config.directory)
    if address.get_backend_name() != "sqlite":
        return State(desk, _store(desk), folder=folder_beside(config))
    path = Path(address.database or "").absolute()
    try:
        there, folder_there = path.exists(), path.parent.exists()
    except OSError as error:
        sentence = f"{path} cannot be used: {reason_of(error)}: name another file, or see who may enter there"
        raise ConfigurationError([Problem(str(config.path), "store.url", sentence)]) from error
    if only_if_made and not there:
        return State(desk, None, folder=None)
    for part in (path.parent, path) if there else (path.parent,):
        if not os.access(part, os.W_OK):
            why = "cannot be written" if folder_there else "is not there"
            return State(desk, None, folder=None, why_none=f"{part} {why}")
    return State(desk, _store(desk), folder=folder_beside(config))


def _store(desk: Desk) -> Store:
    config = desk.config
    return Store(
        config.store.database_url(config.directory), migrations=MIGRATIONS, clock=desk.clock, limit_s=LIMIT_S
    )


def _quietly(work: Callable[[], object]) -> None:
    """Do what changes nothing that matters where the store fails: whatever does is told at the end."""
    try:
        work()
    except UnavailableError:
        return
