"""Figures of a benchmark's parts, told as soon as they are there."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from bench.processes import machine_s


@dataclass(slots=True)
class Found:
    """The figures of the parts so far, each with how busy the machine was meanwhile."""

    figures: dict[str, Any] = field(default_factory=dict)
    began_s: tuple[float, float] = field(default_factory=machine_s)

    def keep(self, part: str, figures: dict[str, Any]) -> None:
        """Take a part's figures, and how busy all cores were meanwhile."""
        busy_s, all_s = (now - began for now, began in zip(machine_s(), self.began_s, strict=True))
        self.figures[part] = figures | {"machine_busy_share": round(busy_s / max(all_s, 0.01), 3)}
        self.began_s = machine_s()
        print(f"{part}: {json.dumps(self.figures[part])}", flush=True)
