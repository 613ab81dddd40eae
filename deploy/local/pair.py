"""Two brokers, A and B, with a MirrorMaker between them, in one folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from deploy.local.broker import Broker, start_together
from deploy.local.mirror import MirrorMaker
from deploy.local.process import stop_together
from deploy.local.several import Several

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from deploy.local.process import Process

STACK_FILE = "stack.json"
START_FOLDER = "start"  # another process asks for a start by a file of that name in here


class Pair(Several):
    """A context manager: inside it the brokers, and the mirror unless `flows` is empty, are ready.

    `stack.json` in the folder tells other processes what is where.
    """

    def __init__(
        self,
        folder: Path,
        *,
        flows: Sequence[str] = ("A->B",),
        settings: Mapping[str, str] | None = None,
        properties: Mapping[str, str] | None = None,
        version: str | None = None,
    ) -> None:
        self.folder = folder
        self.a = Broker("A", folder / "A", properties=properties, version=version)
        self.b = Broker("B", folder / "B", properties=properties, version=version)
        self.brokers = {"A": self.a, "B": self.b}
        self.mirror: MirrorMaker | None = None
        self.companions: dict[str, Process] = {}  # what a fault may ask for beside these, by its name
        if flows:
            self.mirror = MirrorMaker(
                (self.a, self.b), folder / "mirror", flows=flows, settings=settings, version=version
            )

    def start(self) -> None:
        """Start everything at once and return before it is ready."""
        start_together(self.brokers.values())
        if self.mirror is not None:
            self.mirror.start()  # it waits for the brokers by itself
        self.write_stack_file()

    def wait_ready(self, *, deadline_s: float = 60.0) -> None:
        """Wait until both brokers serve clients and every flow copies."""
        for broker in self.brokers.values():
            broker.wait_ready(deadline_s=deadline_s)
        if self.mirror is not None:
            self.mirror.wait_ready(deadline_s=deadline_s)

    def stop(self, *, grace_s: float = 10.0) -> None:
        """Stop everything gracefully, the mirror first; what does not end in time is killed."""
        for companion in self.companions.values():
            companion.kill()
        if self.mirror is not None:
            self.mirror.stop(grace_s=grace_s)
        stop_together(self.brokers.values(), grace_s=grace_s)

    def kill(self) -> None:
        """End everything at once: nothing in the folder needs an orderly end when the folder goes too."""
        for companion in self.companions.values():
            companion.kill()
        if self.mirror is not None:
            self.mirror.kill()
        for broker in self.brokers.values():
            broker.kill()

    def attend(self) -> None:
        """Start what another process has asked for; the owner calls this now and then."""
        for request in (self.folder / START_FOLDER).glob("*"):
            known = {**self.brokers, **self.companions}
            process = self.mirror if request.name == "mirror" else known.get(request.name)
            if process is not None and process.running:
                continue  # its threads are ending: the first of them shows as gone before the last is
            if process is not None:
                process.start()
                self.write_stack_file()
            request.unlink()

    def write_stack_file(self) -> None:
        """Write the process ids, addresses and paths that a fault from another process needs."""
        stack: dict[str, object] = {
            "brokers": {
                alias: {"pid": broker.pid, "client": broker.client_properties()}
                for alias, broker in self.brokers.items()
            }
        }
        if self.mirror is not None:
            stack["mirror"] = {"pid": self.mirror.pid, "switch": str(self.mirror.switch.path)}
        stack["companions"] = {
            name: one.pid
            for name, one in self.companions.items()
            if one.running or one.exit_status is not None
        }
        draft = self.folder / f".{STACK_FILE}"
        draft.write_text(json.dumps(stack, indent=2), encoding="utf-8")
        draft.rename(self.folder / STACK_FILE)

    def bring_up(self) -> None:
        """Start everything and wait until it is ready."""
        self.start()
        self.wait_ready()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        finally:
            self.kill()
