"""Plans with their digests beside the store, so that a run that was killed is gone on with.

    FOLDER/PLAN'S ID/asked.json   what was asked for, and on what the plan is based (plan_holding.basis)
    FOLDER/PLAN'S ID/plan.json    the plan; both files are whole or not there
    FOLDER/PLAN'S ID/source|target  digests, unless `--folder` keeps them elsewhere

The folder of a plan goes with the end of its run. Whoever works on a flow has its row in the book, so nobody
else touches the folders of that flow meanwhile.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checksum.plan_document import plan_id
from checksum.plan_file import read_plan, write_plan
from fleet.errors import ConfigurationError, UnavailableError
from mirrorwatch.checksum_files import reason_of
from runtime.whole_files import written_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from checksum.plan_shape import Plan
    from mirrorwatch.configuration import Configuration

MOST_PLANS = 1000  # folders that are looked at
MOST_ASKED_BYTES = 1_000_000
_ASKED, _PLAN = "asked.json", "plan.json"
_ID_DIGITS = frozenset("0123456789abcdef")


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

    def keep(self, plan: Plan, asked: Mapping[str, Any], *, basis: str) -> Path:
        """Keep a plan that was made for what is asked; raises UnavailableError where it cannot be written."""
        folder = self.of(plan)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with written_whole(folder / _ASKED, mode=0o600) as file:
                json.dump({"asked": dict(asked), "flow": plan.flow, "basis": basis}, file)
            write_plan(folder / _PLAN, plan)
        except OSError as error:
            raise UnavailableError(
                f"{folder} cannot be written: {reason_of(error)}. Digests are kept there: make room, or name"
                " another place with --folder"
            ) from error
        except ConfigurationError as error:
            raise UnavailableError(str(error)) from error
        return folder

    def kept(self, flow: str, asked: Mapping[str, Any]) -> list[tuple[Plan, str]]:
        """Return the plans of a flow that were made for this question and their bases, the newest first.

        What is of this flow and is no whole plan any more is taken away.
        """
        found = []
        for folder, told in self._folders(flow):
            if told.get("asked") != dict(asked):
                continue
            try:
                found.append((read_plan(folder / _PLAN)[0], str(told.get("basis"))))
            except ConfigurationError:  # it was killed before the plan was written, or is of another version
                self._remove(folder)
        return sorted(found, key=lambda one: one[0].made_at_ms, reverse=True)

    def forget(self, plan: Plan) -> None:
        """Take away a plan with its digests."""
        self._remove(self.of(plan))

    def forget_older(self, flow: str, before_ms: int) -> None:
        """Take away what a flow has left that was written before this: nobody goes on with it any more."""
        for folder, _ in self._folders(flow):
            try:
                written_ms = (folder / _ASKED).stat().st_mtime * 1000
            except OSError:
                continue
            if written_ms < before_ms:
                self._remove(folder)

    def _remove(self, folder: Path) -> None:
        try:
            _remove(folder)
        except OSError as error:
            if not self._warned:
                self._warned = True
                self._warn(f"{folder} cannot be taken away: {reason_of(error)}. Nothing needs it: delete it.")

    def _folders(self, flow: str) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield the folders of a flow, each with what its first file tells."""
        try:
            names = sorted(entry.name for entry in self._path.iterdir())
        except OSError:
            return
        for name in [one for one in names if len(one) == 64 and set(one) <= _ID_DIGITS][:MOST_PLANS]:
            told = _read(self._path / name / _ASKED)
            if told is not None and told.get("flow") == flow:
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


def _remove(folder: Path) -> None:
    """Take a folder away; the plan goes first and the question last, so that what a kill leaves is found."""
    (folder / _PLAN).unlink(missing_ok=True)
    for inside in folder.iterdir() if folder.is_dir() else ():
        if inside.name != _ASKED:
            shutil.rmtree(inside, ignore_errors=True) if inside.is_dir() else inside.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # it says why
        folder.rmdir()
