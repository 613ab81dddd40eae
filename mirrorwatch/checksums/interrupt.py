"""Exit soon after Ctrl-C.

An interrupted command stops Spark, closes clients and gives up its run in the store. That waits for threads
that are reading, which may take minutes, so the process exits after `GRACE_S` anyway. Nothing is lost: a
killed run leaves no partial result, and Spark's Java process ends with its parent.
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
def exit_after_interrupt(
    scratch: Path, *, say: Callable[[], object], grace_s: float = GRACE_S
) -> Iterator[None]:
    """Exit the process at most `grace_s` after the first Ctrl-C, and delete the folder `scratch`.

    `say` prints that the command was interrupted, on a thread of its own. If it blocks because nobody reads
    the output, the process exits too. Errors after Ctrl-C count as the interruption, because Spark is being
    stopped.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
        yield
        return
    heard, told = socket.socketpair()
    told.setblocking(False)
    over, interrupted = threading.Event(), threading.Event()
    # A Python signal handler waits for a blocking C call to return; the wakeup descriptor does not.
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
        told.close()  # ends the thread once it has read earlier signals
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
    with suppress(Exception):  # the reader of the output may be gone
        say()


def _leave(scratch: Path) -> None:
    shutil.rmtree(scratch, ignore_errors=True)
    with suppress(Exception):  # stdout may be closed
        if sys.stdout.isatty():
            os.write(sys.stdout.fileno(), _SHOW_CURSOR)
    os._exit(INTERRUPTED)
