"""Run the demo until Ctrl-C."""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.local.demo.keys import Keys, key_by_key
from deploy.local.demo.service import USUAL_PORT
from deploy.local.demo.show import FLOW, Ended, Show
from deploy.local.demo.stack import DemoStack
from deploy.local.faults import BY_NAME
from deploy.local.jars import StackError, jars, kafka_version

if TYPE_CHECKING:
    from types import FrameType


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make demo", description="Watch two real clusters, and inject faults."
    )
    parser.add_argument("--dir", type=Path, default=Path(".demo"), help="the folder for all files (.demo)")
    parser.add_argument("--every", type=float, default=60.0, help="seconds between two faults (60)")
    parser.add_argument("--seconds", type=float, help="stop after this many seconds")
    parser.add_argument("--script", help="inject these faults, separated by commas, and stop")
    chosen = parser.parse_args()
    chosen.names = chosen.script.split(",") if chosen.script else []
    unknown = [name for name in chosen.names if name not in BY_NAME]
    if unknown:
        parser.error(f"unknown fault {', '.join(unknown)}; known: {', '.join(BY_NAME)}")
    return chosen


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {line}", flush=True)


class _Interrupt:
    """The first signal stops the demo gracefully; the second ends everything at once."""

    def __init__(self) -> None:
        self.heard = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        if self.heard:
            # The kernel kills every child of ours when we are gone: each asked for that at its start.
            os._exit(130)
        self.heard = True
        raise KeyboardInterrupt


def main() -> int:
    """Run the demo; return 0 when it ended as asked, 1 when the stack cannot be had."""
    chosen = _arguments()
    interrupt = _Interrupt()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    begun = time.monotonic()
    try:
        _say(f"Starting two Kafka {kafka_version()} clusters, MirrorMaker, traffic and the service ...")
        jars()
        stack = DemoStack(chosen.dir.resolve())
    except StackError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    try:
        with key_by_key():
            _run(stack, chosen, begun, interrupt)
    except (KeyboardInterrupt, Ended):
        pass
    except (StackError, TimeoutError) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        _say("Stopping everything ...")
        stack.stop()
        _say(f"Stopped. Logs and data are in {stack.folder}.")
    return 0


def _run(stack: DemoStack, chosen: argparse.Namespace, begun: float, interrupt: _Interrupt) -> None:
    stack.start(_say)
    ends_at = begun + chosen.seconds if chosen.seconds else math.inf
    # Python drops what a signal handler raises inside a finalizer, so the signal is also asked for.
    show = Show(stack, Keys(), _say, is_over=lambda: interrupt.heard or time.monotonic() > ends_at)
    show.wait_healthy()
    _say(f"Ready after {time.monotonic() - begun:.0f} s. Addresses:")
    _tell_places(stack)
    if chosen.names:
        for name in chosen.names:
            show.round(BY_NAME[name])
        return
    show.play(every_s=chosen.every)


def _tell_places(stack: DemoStack) -> None:
    brokers = stack.pair.brokers
    places = [
        ("mirrorwatch", stack.service.url),
        ("its groups", f"{stack.service.url}/groups"),
        ("its mirror", f"{stack.service.url}/flows/{FLOW.replace('->', ':')}/offsets"),
        *stack.monitoring.places,
        *((f"cluster {alias}", broker.bootstrap) for alias, broker in brokers.items()),
        ("logs and data", str(stack.folder)),
    ]
    for name, place in places:
        print(f"          {name:14} {place}", flush=True)
    if stack.service.port != USUAL_PORT:
        _say(f"Port {USUAL_PORT} is taken, so Mirrorwatch listens on {stack.service.port}.")
    if stack.monitoring.absent:
        _say(f"Not installed, so not started: {', '.join(stack.monitoring.absent)}.")


if __name__ == "__main__":
    sys.exit(main())
