"""Room for many clusters: one who waits keeps nobody else waiting, and files are asked for."""

import asyncio
import resource
import subprocess
import sys
import threading

from runtime.process.limits import MAX_FILES, use_enough_threads

BLOCKED = 100


async def ask_behind_many_that_wait() -> str:
    use_enough_threads()
    released = threading.Event()
    waiting = [asyncio.create_task(asyncio.to_thread(released.wait, 30)) for _ in range(BLOCKED)]
    await asyncio.sleep(0)  # so that they are ahead
    try:
        async with asyncio.timeout(10):
            return await asyncio.to_thread(lambda: "an answer")
    finally:
        released.set()
        await asyncio.gather(*waiting)


def test_an_answer_comes_past_many_calls_that_wait():
    assert asyncio.run(ask_behind_many_that_wait()) == "an answer"


def test_as_many_files_are_asked_for_as_are_allowed():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    fewer = min(soft, 256)
    code = (
        "import resource; from runtime.process.limits import allow_many_files;"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({fewer}, {hard}));"
        "allow_many_files(); print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(told) == (MAX_FILES if hard == resource.RLIM_INFINITY else min(MAX_FILES, hard))
