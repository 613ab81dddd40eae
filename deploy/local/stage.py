"""A running stack as another process sees it: process ids, addresses and paths out of its stack.json."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deploy.local.pair import STACK_FILE, START_FOLDER
from deploy.local.transform import Switch
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    import signal


@dataclass(frozen=True, slots=True)
class Stage:
    """The stack in `folder`. Everything is read anew each time, since a restart changes process ids."""

    folder: Path

    def client(self, alias: str) -> dict[str, str]:
        """Return the client properties of a broker."""
        return dict(self._stack()["brokers"][alias]["client"])

    def pid(self, name: str) -> int:
        """Return the process id of `mirror` or of a broker's alias."""
        stack = self._stack()
        return int(stack["mirror"]["pid"] if name == "mirror" else stack["brokers"][name]["pid"])

    @property
    def switch(self) -> Switch:
        """Return the switch of the mirror's transformation."""
        return Switch(Path(self._stack()["mirror"]["switch"]))

    def send(self, name: str, number: signal.Signals) -> None:
        """Send a signal to the mirror or a broker; it may have ended already."""
        if self.runs(name):
            os.kill(self.pid(name), number)

    def end(self, name: str, number: signal.Signals, *, deadline_s: float = 30.0) -> None:
        """End the mirror or a broker by a signal and wait until it is gone."""
        self.send(name, number)
        wait_until(lambda: not self.runs(name), deadline_s=deadline_s, what=f"The end of {name}")

    def start(self, name: str, *, deadline_s: float = 30.0) -> None:
        """Ask the stack's owner, whose child it has to be, to start the mirror or a broker again."""
        if self.runs(name):
            return
        (self.folder / START_FOLDER).mkdir(exist_ok=True)
        (self.folder / START_FOLDER / name).touch()
        wait_until(lambda: self.runs(name), deadline_s=deadline_s, what=f"The start of {name} by its owner")

    def runs(self, name: str) -> bool:
        """Tell whether the process is there, frozen or not; one that waits to be reaped is not."""
        try:
            status = Path(f"/proc/{self.pid(name)}/stat").read_text(encoding="utf-8")
        except (FileNotFoundError, ProcessLookupError):
            return False
        return status.rpartition(")")[2].split()[0] != "Z"

    def _stack(self) -> Any:
        return json.loads((self.folder / STACK_FILE).read_text(encoding="utf-8"))
