"""Plans with their digests beside the store, so that a run that was killed is gone on with.

    FOLDER/PLAN'S ID/asked.json   what was asked for, of which of that nothing was new, and on what the plan
                                  is based (plan_holding.basis)
    FOLDER/PLAN'S ID/plan.json    the plan; both files are whole or not there
    FOLDER/PLAN'S ID/source|target  digests, unless `--folder` keeps them elsewhere

The folder of a plan goes with the end of its run, or once nobody has gone on with it for KEPT_MS. Whoever
works on a flow has its row in the book, so nobody else touches the folders of that flow meanwhile.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checksum.plan.document import plan_id
from checksum.plan.file import read_plan, write_plan
from fleet.errors import ConfigurationError, UnavailableError
from mirrorwatch.checksums.results.files import reason_of
from runtime.files.whole_files import written_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from checksum.plan.shape import Plan
    from mirrorwatch.configuration.configuration import Configuration

MOST_PLANS = 1000  # folders that are looked at
MOST_ASKED_BYTES = 32_000_000  # it names up to a hundred thousand topics
KEPT_MS = 7 * 86_400_000  # of runs that nobody has gone on with
_ASKED, _PLAN = "asked.json", "plan.json"
_ID_DIGITS = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """A plan of an unfinished run, on what it is based, and the topics that it lacks as nothing was new."""

    plan: Plan
    basis: str
    nothing_new: tuple[str, ...] = ()


class PlanFolder:
    """Keeps plans of unfinished runs in `path`, which is made when the first one is kept."""

    def __init__(self, path: Path, *, warn: Callable[[str], object] = lambda _sentence: None) -> None:
        """Make it; `warn` is told once of what cannot be taken away: it is in nobody's way."""
        self._path = path
        self._warn = warn
        self._warned = False

    def of(self, plan: Plan) -> Path:
        """Return where a plan and its digests are."""
        return self._path / plan_id(plan)

    def keep(
        self, plan: Plan, asked: Mapping[str, Any], *, basis: str, nothing_new: Sequence[str] = ()
    ) -> Path:
        """Keep a plan that was made for what is asked; raises UnavailableError where it cannot be written."""
        folder = self.of(plan)
        told = {"asked": dict(asked), "flow": plan.flow, "basis": basis, "nothing_new": list(nothing_new)}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with written_whole(folder / _ASKED, mode=0o600) as file:
                json.dump(told, file)
            write_plan(folder / _PLAN, plan)
        except OSError as error:
            raise UnavailableError(
                f"{folder} cannot be written: {reason_of(error)}. Digests are kept there: make room, or name"
                " another place with --folder"
            ) from error
        except ConfigurationError as error:
            raise UnavailableError(str(error)) from error
        return folder

    def kept(self, flow: str, asked: Mapping[str, Any], *, now_ms: int) -> list[KeptPlan]:
        """Return the plans of a flow that were made for this question, the newest first.

        What is of this flow and is too old, or is no whole plan any more, is taken away.
        """
        found = []
        for folder, told in self._folders():
            if told.get("flow") != flow:
                continue
            if _is_old(folder, now_ms):
                self._remove(folder)
            elif told.get("asked") == dict(asked):
                try:
                    plan = read_plan(folder / _PLAN)[0]
                except ConfigurationError:  # a kill came before it was written, or it is of another version
                    self._remove(folder)
                else:
                    found.append(KeptPlan(plan, str(told.get("basis")), _names(told.get("nothing_new"))))
        return sorted(found, key=lambda one: one.plan.made_at_ms, reverse=True)

    def forget(self, plan: Plan) -> None:
        """Take away a plan with its digests."""
        self._remove(self.of(plan))

    def forget_old(self, now_ms: int, *, on: Collection[str]) -> None:
        """Take away what nobody goes on with any more, of flows that are gone too, but for those `on`."""
        for folder, told in self._folders():
            if told.get("flow") not in on and _is_old(folder, now_ms):
                self._remove(folder)

    def _remove(self, folder: Path) -> None:
        try:
            _remove(folder)
        except OSError as error:
            if not self._warned:
                self._warned = True
                self._warn(f"{folder} cannot be taken away: {reason_of(error)}. Nothing needs it: delete it.")

    def _folders(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield the folders of plans, each with what its first file tells."""
        try:
            names = sorted(entry.name for entry in self._path.iterdir())
        except OSError:
            return
        for name in [one for one in names if len(one) == 64 and set(one) <= _ID_DIGITS][:MOST_PLANS]:
            told = _read(self._path / name / _ASKED)
            if told is not None and isinstance(told.get("flow"), str):
                yield self._path / name, told


def folder_beside(config: Configuration) -> Path | None:
    """Return where plans and digests are beside the store, None where nothing can be written.

    Beside the configuration where the store is no file. Raises OSError where nothing can be seen there.
    """
    address = config.store.database_url(config.directory)
    is_file = address.get_backend_name() == "sqlite"
    beside = Path(address.database or "").absolute().parent if is_file else config.directory.absolute()
    return beside / "checksum" if os.access(beside, os.W_OK) else None


def _read(path: Path) -> dict[str, Any] | None:
    try:
        if path.stat().st_size > MOST_ASKED_BYTES:
            return None
        told = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _is_old(folder: Path, now_ms: int) -> bool:
    """Tell whether nobody has gone on with a plan for too long; whoever does writes its question."""
    try:
        return now_ms - (folder / _ASKED).stat().st_mtime * 1000 > KEPT_MS
    except OSError:
        return False


def _names(told: object) -> tuple[str, ...]:
    return tuple(one for one in told if isinstance(one, str)) if isinstance(told, list) else ()


def _remove(folder: Path) -> None:
    """Take a folder away; the plan goes first and the question last, so that what a kill leaves is found."""
    (folder / _PLAN).unlink(missing_ok=True)
    for inside in folder.iterdir() if folder.is_dir() else ():
        if inside.name != _ASKED:
            shutil.rmtree(inside, ignore_errors=True) if inside.is_dir() else inside.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # it says why
        folder.rmdir()
