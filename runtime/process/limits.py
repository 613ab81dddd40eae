"""Limits for many clusters in one process: open files, and blocking threads.

The clients of one cluster hold about fifty sockets and pipes, and many systems allow a process 1,024 files by
default. asyncio's default thread pool has four threads more than the host has processors: a few clusters that
do not answer would fill it with clients being closed, and block all others.
"""

from __future__ import annotations

import asyncio
import resource
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

MAX_WAITING = 512  # a thread is made only when none is idle, so a high limit costs nothing
MAX_FILES = 65_536


def allow_many_files() -> None:
    """Ask for as many open files as this process may have; where that is refused, what it has stays."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(MAX_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def use_enough_threads() -> None:
    """Have `asyncio.to_thread` of the running loop use a pool in which nobody waits for somebody else."""
    executor = ThreadPoolExecutor(MAX_WAITING, thread_name_prefix="waiting")
    asyncio.get_running_loop().set_default_executor(executor)
