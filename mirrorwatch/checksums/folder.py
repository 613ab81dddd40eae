"""Plans and digests of unfinished runs, stored next to the database, so that an interrupted run can resume.

    FOLDER/PLAN ID/asked.json     the question (flow and topics), topics without new records, and the basis of
                                  the plan (checksum/plan/validity.py)
    FOLDER/PLAN ID/plan.json      the plan; both files are complete or absent
    FOLDER/PLAN ID/source|target  digests, unless `--folder` names another place

A plan's folder is deleted when its run ends, or KEPT_MS after the last attempt. A run holds the lock of its
flow in the store, so no other run touches the flow's folders.
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

MOST_PLANS = 1000  # folders that are read
MOST_ASKED_BYTES = 32_000_000  # up to a hundred thousand topic names
KEPT_MS = 7 * 86_400_000  # since the last attempt
_ASKED, _PLAN = "asked.json", "plan.json"
_ID_DIGITS = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """The plan of an unfinished run, its basis, and the topics without new records."""

    plan: Plan
    basis: str
    nothing_new: tuple[str, ...] = ()


class PlanFolder:
    """Stores plans of unfinished runs in `path`, which is created with the first plan."""

    def __init__(self, path: Path, *, warn: Callable[[str], object] = lambda _sentence: None) -> None:
        """Create it; `warn` is called once if something cannot be deleted."""
        self._path = path
        self._warn = warn
        self._warned = False

    def of(self, plan: Plan) -> Path:
        """Return the folder of a plan and its digests."""
        return self._path / plan_id(plan)

    def keep(
        self, plan: Plan, asked: Mapping[str, Any], *, basis: str, nothing_new: Sequence[str] = ()
    ) -> Path:
        """Store a plan made for a question; raises UnavailableError if it cannot be written."""
        folder = self.of(plan)
        told = {"asked": dict(asked), "flow": plan.flow, "basis": basis, "nothing_new": list(nothing_new)}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with written_whole(folder / _ASKED, mode=0o600) as file:
                json.dump(told, file)
            write_plan(folder / _PLAN, plan)
        except OSError as error:
            raise UnavailableError(
                f"{folder}: cannot write digests: {reason_of(error)}; free space, or name another folder with"
                " --folder"
            ) from error
        except ConfigurationError as error:
            raise UnavailableError(str(error)) from error
        return folder

    def kept(self, flow: str, asked: Mapping[str, Any], *, now_ms: int) -> list[KeptPlan]:
        """Return the plans of a flow that were made for this question, newest first.

        Deletes the flow's plans that are too old or incomplete.
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
                except ConfigurationError:  # not written completely, or by another version
                    self._remove(folder)
                else:
                    found.append(KeptPlan(plan, str(told.get("basis")), _names(told.get("nothing_new"))))
        return sorted(found, key=lambda one: one.plan.made_at_ms, reverse=True)

    def forget(self, plan: Plan) -> None:
        """Delete a plan and its digests."""
        self._remove(self.of(plan))

    def forget_old(self, now_ms: int, *, on: Collection[str]) -> None:
        """Delete old plans of all flows, removed ones included, except the flows in `on`."""
        for folder, told in self._folders():
            if told.get("flow") not in on and _is_old(folder, now_ms):
                self._remove(folder)

    def _remove(self, folder: Path) -> None:
        try:
            _remove(folder)
        except OSError as error:
            if not self._warned:
                self._warned = True
                self._warn(f"{folder}: cannot delete: {reason_of(error)}; it is no longer needed, delete it")

    def _folders(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield the plan folders, each with the content of its asked.json."""
        try:
            names = sorted(entry.name for entry in self._path.iterdir())
        except OSError:
            return
        for name in [one for one in names if len(one) == 64 and set(one) <= _ID_DIGITS][:MOST_PLANS]:
            told = _read(self._path / name / _ASKED)
            if told is not None and isinstance(told.get("flow"), str):
                yield self._path / name, told


def folder_beside(config: Configuration) -> Path | None:
    """Return the folder for plans and digests next to the store, or None if no place for it is writable.

    If the store is not a file, it is next to the configuration or in the state directory of the unit.
    Raises OSError if the place is not accessible.
    """
    address = config.store.database_url(config.directory)
    if address.get_backend_name() == "sqlite":
        places = [Path(address.database or "").absolute().parent]
    else:
        places = [config.directory, *_state_directories()]
    return next((place.absolute() / "checksum" for place in places if os.access(place, os.W_OK)), None)


def _state_directories() -> list[Path]:
    """Return what StateDirectory of a systemd unit names, which is the only place that it can write."""
    return [Path(one) for one in os.environ.get("STATE_DIRECTORY", "").split(":") if one]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        if path.stat().st_size > MOST_ASKED_BYTES:
            return None
        told = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _is_old(folder: Path, now_ms: int) -> bool:
    """Return whether a plan was not used for too long; each use rewrites asked.json."""
    try:
        return now_ms - (folder / _ASKED).stat().st_mtime * 1000 > KEPT_MS
    except OSError:
        return False


def _names(told: object) -> tuple[str, ...]:
    return tuple(one for one in told if isinstance(one, str)) if isinstance(told, list) else ()


def _remove(folder: Path) -> None:
    """Delete a folder: the plan first and asked.json last, so that an interrupted deletion is found."""
    (folder / _PLAN).unlink(missing_ok=True)
    for inside in folder.iterdir() if folder.is_dir() else ():
        if inside.name != _ASKED:
            shutil.rmtree(inside, ignore_errors=True) if inside.is_dir() else inside.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # raises the reason
        folder.rmdir()
