"""A stage whose digests stay in their folders, what its store holds, and a run that kills itself.

As a program: `python -m tests.mirrorwatch.checksum_kept FOLDER STEP` runs the checksum of FOLDER's store and
is gone, as by kill -9, at that step.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from checksum.digest.cell_rows import CellRow
from checksum.history import rows as history_rows
from checksum.history.history import ChecksumHistory
from mirrorwatch.checksums.folder import PlanFolder
from mirrorwatch.checksums.run import run_all
from mirrorwatch.service.store_parts import MIGRATIONS
from runtime.store.store import Store
from tests.checksum.pretend_mirror import Mirrored
from tests.mirrorwatch.checksum_stage import PretendDigests, Progress, Stage

STEPS = ("planned", "one side", "writing", "written")
LOST_AT = 123


class KeptDigests(PretendDigests):
    """Digests that another process goes on with; `read` is what was read of the logs."""

    def __init__(self, stage):
        super().__init__(stage)
        self.read = []

    def digest(self, plan, side, folder):
        path = Path(folder) / "cells.json"
        if path.exists():
            yield Progress(1, 1, 1)
            return
        self.read.append(
            (str(side), {one.topic: [spans(each) for each in one.partitions] for one in plan.topics})
        )
        yield from super().digest(plan, side, folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.kept[folder]))

    def cells(self, _plan, _side, folder):
        return [CellRow(*row) for row in json.loads((Path(folder) / "cells.json").read_text())]


def spans(planned):
    return [[one.first, one.until] for one in (planned.source, planned.target)]


def lossy():
    """Return a partition of 200 records of which one was lost, the same in every process."""
    one = Mirrored(lag_max=10)
    one.write(200)
    one.copy(LOST_AT)
    one.copy(1, drop=True)
    one.copy()
    one.flush()
    return one


def kept_stage(folder, monkeypatch, mirrors=None, **more):
    stage = Stage(folder, mirrors or {("orders", 0): lossy()}, monkeypatch, **more)
    stage.digests_made = KeptDigests(stage)
    return stage


def run(stage, *topics, json_file=None):
    return run_all(stage.session, stage.chosen(*topics), spark=stage, json_file=json_file)


def book_of(folder, ask, name="mirrorwatch.db"):
    """Return what `ask` answers of the history in a folder's store."""

    async def asked():
        store = Store(f"sqlite:///{folder / name}", migrations=MIGRATIONS)
        await store.open()
        try:
            return await ask(ChecksumHistory(store))
        finally:
            await store.close()

    return asyncio.run(asked())


def documents(folder, flow="A->B"):
    """Return the documents of a flow's finished runs, the oldest first."""

    async def ask(history):
        rows = await history.runs(flow, limit=100)
        return [(await history.run(one.run)).document for one in reversed(rows)]

    return book_of(folder, ask)


def marks(folder, flow="A->B"):
    """Return up to where each partition is verified, on both sides."""

    async def ask(history):
        return await history.verified(flow)

    return {place: (one.source_offset, one.target_offset) for place, one in book_of(folder, ask).items()}


def killed_at(folder, step):
    """Run the checksum of this folder in a process that is killed at this step."""
    ended = subprocess.run(
        [sys.executable, "-m", __name__, str(folder), step],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=Path(__file__).parents[2],
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def _die(*_given, **_named):
    os.kill(os.getpid(), signal.SIGKILL)


def _main(folder, step):
    with pytest.MonkeyPatch.context() as patch:
        stage = kept_stage(Path(folder), patch)
        if step in ("planned", "one side"):
            digest, last = stage.digests_made.digest, "source" if step == "planned" else "target"
            stage.digests_made.digest = lambda *asked: _die() if asked[1] == last else digest(*asked)
        elif step == "outlets":
            object.__setattr__(stage.session, "outlets", (_die,))
        elif step == "service":
            object.__setattr__(stage.session, "service", _die)
        elif step == "writing":
            patch.setattr(history_rows, "_write_verified", _die)
        else:
            patch.setattr(PlanFolder, "forget", _die)
        run(stage)


if __name__ == "__main__":
    _main(*sys.argv[1:])
