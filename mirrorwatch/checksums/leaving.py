"""Leave soon after Ctrl-C, whatever is under way.

What a command had begun is put in order: Spark is stopped, clients are closed, the run is given up in the
store. That waits for what threads read meanwhile, which may take minutes; after `GRACE_S` the process ends as
it is. Nothing is lost by that: a run that is killed leaves nothing half-recorded, and Spark's Java ends when
its parent is gone.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

GRACE_S = 1.5
INTERRUPTED = 130
_SHOW_CURSOR = b"\x1b[?25h"


@contextmanager
def leaving_soon(scratch: Path, *, say: Callable[[], object], grace_s: float = GRACE_S) -> Iterator[None]:
    """Have the process end so long after the first Ctrl-C at the latest, without the folder `scratch`.

    `say` is called at once, on a thread of its own, to tell that the command was interrupted. Where it does
    not end, since nobody reads what it writes, nothing that is printed later would: the process ends too.
    What ends after it ends as interrupted: what fails then, since Spark is being stopped, failed by that.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are none of another's
        yield
        return
    heard, told = socket.socketpair()
    told.setblocking(False)
    over, interrupted = threading.Event(), threading.Event()
    # Python's handlers run between two of its own instructions; this one is told by the signal itself.
    before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(
        target=_wait,
        args=(heard, over, interrupted, scratch),
        kwargs={"say": say, "grace_s": grace_s},
        name="leaving",
        daemon=True,
    )
    thread.start()

    def end() -> None:
        over.set()
        signal.set_wakeup_fd(before)
        told.close()  # at this the thread ends, when it has heard what was told before
        thread.join()
        heard.close()

    try:
        yield
    except Exception as error:
        end()
        if interrupted.is_set():
            raise KeyboardInterrupt from error
        raise
    finally:
        end()


def _wait(
    heard: socket.socket,
    over: threading.Event,
    interrupted: threading.Event,
    scratch: Path,
    *,
    say: Callable[[], object],
    grace_s: float,
) -> None:
    while numbers := heard.recv(64):
        if signal.SIGINT in numbers:
            interrupted.set()
            saying = threading.Thread(target=_say, args=(say,), name="leaving-word", daemon=True)
            saying.start()
            in_time = over.wait(grace_s)
            saying.join(grace_s if in_time else 0)
            if not in_time or saying.is_alive():
                _leave(scratch)
            return


def _say(say: Callable[[], object]) -> None:
    with suppress(Exception):  # whoever read along may be gone too
        say()


def _leave(scratch: Path) -> None:
    shutil.rmtree(scratch, ignore_errors=True)
    with suppress(Exception):  # stdout may be closed
        if sys.stdout.isatty():
            os.write(sys.stdout.fileno(), _SHOW_CURSOR)
    os._exit(INTERRUPTED)
