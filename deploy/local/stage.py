"""A running stack as another process sees it: process ids, addresses and paths out of its stack.json."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deploy.local.pair import STACK_FILE, START_FOLDER
from deploy.local.properties import write_properties
from deploy.local.transform import Switch
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Stage:
    """The stack in `folder`. Everything is read again each time, since a restart changes process ids."""

    folder: Path

    def client(self, alias: str) -> dict[str, str]:
        """Return the client properties of a broker."""
        return dict(self._stack()["brokers"][alias]["client"])

    def pid(self, name: str) -> int:
        """Return the process id of `mirror`, of a broker's alias or of a companion; 0 before its start."""
        stack = self._stack()
        if name not in ("mirror", *stack["brokers"]):
            return int(stack.get("companions", {}).get(name, 0))
        return int(stack["mirror"]["pid"] if name == "mirror" else stack["brokers"][name]["pid"])

    @property
    def switch(self) -> Switch:
        """Return the switch of the mirror's transformation."""
        return Switch(Path(self._stack()["mirror"]["switch"]))

    @property
    def proxy_order(self) -> Path:
        """Return the file that a proxy of this stack obeys."""
        return self.folder / "proxy.order"

    def configure(self, settings: Mapping[str, str]) -> None:
        """Lay settings over the mirror's file; they count from its next start."""
        file, kept = self._mirror_files()
        if not kept.exists():
            kept.write_bytes(file.read_bytes())
        draft = file.with_suffix(".draft")
        write_properties(draft, settings)
        file.write_bytes(kept.read_bytes() + draft.read_bytes())  # of two lines for one key the last counts
        draft.unlink()

    def configure_back(self) -> None:
        """Give the mirror's file back what it held before the first `configure`."""
        file, kept = self._mirror_files()
        if kept.exists():
            file.write_bytes(kept.read_bytes())
            kept.unlink()

    def _mirror_files(self) -> tuple[Path, Path]:
        file = self.switch.path.with_suffix(".properties")
        return file, file.with_suffix(".kept")

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
        """Return whether the process is there, frozen or not; one that waits to be reaped is not."""
        if self.pid(name) == 0:
            return False
        try:
            status = Path(f"/proc/{self.pid(name)}/stat").read_text(encoding="utf-8")
        except (FileNotFoundError, ProcessLookupError):
            return False
        return status.rpartition(")")[2].split()[0] != "Z"

    def _stack(self) -> Any:
        return json.loads((self.folder / STACK_FILE).read_text(encoding="utf-8"))
