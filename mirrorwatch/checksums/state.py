"""State of a checksum command in the configured store: its run, and the result.

The store is used from a separate thread, where it stays open for the whole command. The run's heartbeat is
sent there while Spark reads and Python compares. If the store's folder is not writable, nothing is stored,
and each run compares everything.
"""

from __future__ import annotations

import os
import socket
import uuid
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checksum.history.history import LEASE_S, ChecksumHistory
from checksum.plan.flow_plan import Before
from checksum.report.result_document import of_run
from fleet.errors import ConfigurationError, MirrorwatchError, Problem, UnavailableError
from lagmon.syncs.tables import cursor_of
from mirrorwatch.audits.flow_audit import newest_finding
from mirrorwatch.checksums.folder import PlanFolder, folder_beside
from mirrorwatch.checksums.results.files import reason_of
from mirrorwatch.checksums.syncs import StoredSyncs
from mirrorwatch.checksums.threads import Heartbeat, StoreThread
from mirrorwatch.service.store_parts import MIGRATIONS
from runtime.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
    from typing import TypeVar

    from checksum.history.entries import Place
    from checksum.history.history import Counted, OpenRun, RunRow, VerifiedTo
    from fleet.verdicts.flow import Flow
    from mirrorwatch.checksums.session import Session

    T = TypeVar("T")

HEART_S = 15.0
LIMIT_S = 60.0  # per operation: one run may write a hundred thousand rows at once
MOST_RUNS = 1000  # of a flow that are searched for findings: a month, if hourly


class State:
    """The stored state of one command's flows; without a store, `why_none` says why."""

    def __init__(
        self, session: Session, store: Store | None, *, folder: Path | None, why_none: str = ""
    ) -> None:
        self.why_none = why_none
        self._session = session
        self._store = store
        self._folder = folder
        self._asking = StoreThread()
        self._runs: list[Run] = []
        self._late: set[str] = set()

    def open(self, *, only_if_made: bool) -> None:
        """Open the store if there is one; raises UnavailableError if it cannot be used."""
        self._asking.start()
        if self._store is None:
            return
        if not only_if_made:
            self.ask(self._store.open())
        elif not self.ask(self._store.open_if_made()):
            self._store = None

    def begin(self, flow: Flow, *, counts_only: bool = False) -> Run:
        """Start a run of a flow; raises UnavailableError if another one is active, or the store fails.

        If an active run on a machine with another clock is possible, wait for its heartbeat first.
        """
        if self._store is None:
            return Run(self, uuid.uuid4().hex, flow.name, self.now_ms(), counts_only=counts_only)
        history = ChecksumHistory(self._store)
        dead = self._wait_for_heartbeat(history, flow)
        begun_ms = self.now_ms()
        begun = self.ask(
            history.begin(flow.name, who=who(), now_ms=begun_ms, counts_only=counts_only, dead=dead)
        )
        run = Run(self, begun, flow.name, begun_ms, history=history, counts_only=counts_only)
        self._runs.append(run)
        run.start()
        run.before = self.before(flow)
        if self._folder is not None and not counts_only:
            run.plans = PlanFolder(self._folder, warn=self._session.sheet.say)
        return run

    def _wait_for_heartbeat(self, history: ChecksumHistory, flow: Flow) -> list[OpenRun]:
        """Return the runs that send no heartbeat for LEASE_S while we wait."""
        maybe_dead = self.ask(history.maybe_dead(flow.name, now_ms=self.now_ms()))
        if maybe_dead:
            self._session.sheet.say(
                f"{flow.name}: waiting {LEASE_S:g} s for a heartbeat of another run on {maybe_dead[0].who}."
                f" Its last one is {LEASE_S:g} s old or older, but the clocks of both machines may differ.",
                indent=0,
            )
            self._session.pause(LEASE_S)
        return maybe_dead

    def read_only(self, flow: Flow) -> Run:
        """Return a run that reads the earlier state and writes nothing."""
        run = Run(self, "", flow.name, self.now_ms())
        run.before = self.before(flow)
        return run

    def before(self, flow: Flow) -> Before:
        """Return the earlier state of a flow."""
        store = self._store
        if store is None:
            return Before()

        def read(function: Callable[..., Any]) -> Any:
            return self.ask(store.read(function))

        verified = self.ask(ChecksumHistory(store).verified(flow.name))
        return Before(verified, StoredSyncs(flow.name, read(partial(cursor_of, flow=flow.name)), read))

    def last_finding(self, flow: Flow) -> RunRow | None:
        """Return the newest run of a flow with findings that no later run cleared.

        None if there is none, or if this command reports it itself.
        """
        if self._store is None:
            return None
        found = newest_finding(self.ask(ChecksumHistory(self._store).runs(flow.name, limit=MOST_RUNS)))
        return None if found is None or found.run in self._late else found

    def unreported(self, flows: Iterable[Flow]) -> list[RunRow]:
        """Return the finished runs of these flows that their commands did not report."""
        if self._store is None:
            return []
        history = ChecksumHistory(self._store)
        found = [one for flow in flows for one in self.ask(history.unreported(flow.name))]
        self._late = {one.run for one in found}
        return found

    def mark_reported(self, runs: Iterable[str]) -> None:
        """Mark these runs, and those that were `unreported`, as reported.

        If this fails they are reported once more, which is better than never.
        """
        store, told = self._store, {*runs, *self._late}
        if store is not None and told:
            _ignoring_failure(lambda: self.ask(ChecksumHistory(store).mark_reported(told)))

    def queue_for_posting(self, runs: Collection[str]) -> None:
        """Queue these runs of earlier commands for the service, if there is one."""
        store = self._store
        if store is not None and runs and self.posts_results:
            _ignoring_failure(lambda: self.ask(ChecksumHistory(store).queue_for_posting(runs)))

    def unposted(self, flows: Iterable[Flow]) -> Iterator[RunRow]:
        """Yield the runs of these flows that are queued for a service; each is read when it is needed.

        Stops if the store fails: the runs wait for the next command.
        """
        if self._store is None:
            return
        history = ChecksumHistory(self._store)
        try:
            for flow in flows:
                for run in self.ask(history.unposted(flow.name)):
                    found = self.ask(history.run_to_report(run))
                    if found is not None:
                        yield found
        except UnavailableError:
            return

    def mark_posted(self, runs: Collection[str]) -> None:
        """Remove these runs from the service's queue; if this fails they are reported once more."""
        store = self._store
        if store is not None and runs:
            _ignoring_failure(lambda: self.ask(ChecksumHistory(store).mark_posted(runs)))

    def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the store's thread, and wait for it."""
        return self._asking.do(work)

    def now_ms(self) -> int:
        """Return the current time, in epoch ms."""
        return int(self._session.clock.wall_s() * 1000)

    @property
    def posts_results(self) -> bool:
        """Return whether this command reports to a service."""
        return self._session.service is not None

    @property
    def keeps_ms(self) -> int:
        """Return how long runs are kept."""
        return int(self._session.config.store.keep.findings * 1000)

    def close(self) -> None:
        """Give up unfinished runs, and close the store."""
        try:
            for run in self._runs:
                run.give_up()
            if self._store is not None:
                self.ask(self._store.close())
        finally:
            self._asking.end()


class Run:
    """One run of a flow; `before` is the earlier state, `plans` stores its plan (None: nowhere)."""

    def __init__(
        self,
        state: State,
        run: str,
        flow: str,
        begun_ms: int,
        *,
        history: ChecksumHistory | None = None,
        counts_only: bool = False,
    ) -> None:
        self.before = Before()
        self.plans: PlanFolder | None = None
        self._state = state
        self._run = run
        self._flow = flow
        self._begun_ms = begun_ms
        self._history = history
        self._counts_only = counts_only
        self._ended = history is None
        self._heartbeat = Heartbeat(self._send_heartbeat, every_s=HEART_S) if history is not None else None

    def start(self) -> None:
        """Start the heartbeat."""
        if self._heartbeat is not None:
            self._heartbeat.start()

    def planned(self, plan_id: str) -> None:
        """Store the id of its plan, for other runs' messages; errors are ignored."""
        self._send_heartbeat(plan_id)

    def document(self, found: dict[str, Any], *, run: str = "") -> dict[str, Any]:
        """Return its result with its own id, unless another one is given, and its times; the run ends now."""
        ended_ms = max(self._state.now_ms(), self._begun_ms)
        return of_run(
            found,
            run=run or self._run,
            begun_ms=self._begun_ms,
            ended_ms=ended_ms,
            who=who(),
            counts_only=self._counts_only,
        )

    def finish(
        self, document: Mapping[str, Any], verified: Mapping[Place, VerifiedTo], counts: Iterable[Counted]
    ) -> MirrorwatchError | None:
        """Store the result in one transaction; return the error, or None."""
        history, state = self._history, self._state
        if history is None:
            return None
        self._stop()
        try:
            state.ask(
                history.finish(
                    self._run,
                    now_ms=state.now_ms(),
                    status=document["status"],
                    document=document,
                    verified=verified,
                    counts=counts,
                    unposted=state.posts_results,
                )
            )
        except MirrorwatchError as error:
            return error
        self._ended = True
        self._clean_up(history)
        return None

    def give_up(self) -> None:
        """End the run without a result, unless it has ended."""
        self._stop()
        if self._history is not None and not self._ended:
            self._ended = True
            _ignoring_failure(
                lambda: self._state.ask(self._history.give_up(self._run)) if self._history else None
            )

    def _clean_up(self, history: ChecksumHistory) -> None:
        now_ms = self._state.now_ms()
        _ignoring_failure(lambda: self._state.ask(history.forget(now_ms - self._state.keeps_ms)))
        plans = self.plans
        if plans is not None:
            _ignoring_failure(
                lambda: plans.forget_old(now_ms, on=self._state.ask(history.active_flows(now_ms)))
            )

    def _send_heartbeat(self, plan: str | None = None) -> None:
        history, state = self._history, self._state
        if history is not None:
            _ignoring_failure(lambda: state.ask(history.send_heartbeat(self._run, state.now_ms(), plan=plan)))

    def _stop(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.stop()


@contextmanager
def state_for(session: Session, *, only_if_made: bool = False) -> Iterator[State]:
    """Provide the stored state; unfinished runs are given up with the block.

    With `only_if_made`, no store is created. Raises UnavailableError if an existing one cannot be used.
    """
    state = _state(session, only_if_made=only_if_made)
    try:
        state.open(only_if_made=only_if_made)
        yield state
    finally:
        state.close()


def who() -> str:
    """Return the machine and the process, for messages."""
    return f"{socket.gethostname()}, process {os.getpid()}"


def _state(session: Session, *, only_if_made: bool) -> State:
    config = session.config
    address = config.store.database_url(config.directory)
    if address.get_backend_name() != "sqlite":
        return State(session, _store(session), folder=folder_beside(config))
    path = Path(address.database or "").absolute()
    try:
        there, folder_there = path.exists(), path.parent.exists()
    except OSError as error:
        sentence = f"cannot open {path}: {reason_of(error)}; name another file, or fix its permissions"
        raise ConfigurationError([Problem(str(config.path), "store.url", sentence)]) from error
    if only_if_made and not there:
        return State(session, None, folder=None)
    for part in (path.parent, path) if there else (path.parent,):
        if not os.access(part, os.W_OK):
            why = "is not writable" if folder_there else "does not exist"
            return State(session, None, folder=None, why_none=f"{part} {why}")
    return State(session, _store(session), folder=folder_beside(config))


def _store(session: Session) -> Store:
    config = session.config
    return Store(
        config.store.database_url(config.directory),
        migrations=MIGRATIONS,
        clock=session.clock,
        limit_s=LIMIT_S,
    )


def _ignoring_failure(work: Callable[[], object]) -> None:
    """Do something whose failure does not matter: an error that matters is reported at the end."""
    try:
        work()
    except UnavailableError:
        return
