"""`python -m runtime.kafka.group_asker`: a process that queries the groups of one cluster.

It speaks lines of JSON. The first line on standard input is the configuration, each later one a request; each
line on standard output is an answer. It ends at the end of its input. `GroupAsker` is the client side.
`DirectAsker` does the same without a process.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from fleet.errors import MirrorwatchError, UnavailableError
from runtime.kafka.group_offsets import (
    Failed,
    GroupOffsets,
    GroupsListed,
    GroupsOfAnyKind,
    MembersCounted,
    MembersTold,
    OffsetsTold,
    RightTold,
)
from runtime.kafka.properties.client_settings import ClientSettings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from runtime.kafka.group_offsets import Told

_KINDS = {
    one.__name__: one
    for one in (GroupsListed, GroupsOfAnyKind, OffsetsTold, MembersTold, MembersCounted, Failed, RightTold)
}
_HEAR_S = 1.0
_END_S = 5.0
_MAX_CHARS = 300


class GroupAsker:
    """Starts the process, sends requests and collects answers; for one thread."""

    def __init__(self, settings: ClientSettings, *, cluster: str, timeout_s: float = 10.0) -> None:
        self._order = {
            "librdkafka": dict(settings.librdkafka),
            "cluster": cluster,
            "timeout_s": timeout_s,
        }
        self._cluster = cluster
        self._answers: queue.SimpleQueue[Told] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._said: deque[str] = deque(maxlen=1)  # on its standard error, the last line

    @property
    def pid(self) -> int | None:
        """Return its process id while it runs."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process; what an earlier one was asked is never answered."""
        self.end()
        self._answers = queue.SimpleQueue()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "runtime.kafka.group_asker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._process = process
        self._said = deque(maxlen=1)
        assert process.stdout is not None
        assert process.stderr is not None
        for target, heard in (
            (_listen, (process.stdout, self._answers)),
            (_hear_out, (process.stderr, self._said)),
        ):
            threading.Thread(target=target, args=heard, name="groups-answers", daemon=True).start()
        self._tell(self._order)

    def list_groups(self) -> None:
        """Request the list of consumer groups."""
        self._tell({"ask": "list"})

    def count_others(self) -> None:
        """Request the number of groups of other kinds."""
        self._tell({"ask": "others"})

    def ask_right(self) -> None:
        """Request whether groups may be described."""
        self._tell({"ask": "right"})

    def ask(self, groups: Sequence[str]) -> None:
        """Request the committed offsets of these groups."""
        self._tell({"ask": "offsets", "groups": list(groups)})

    def describe(self, groups: Sequence[str]) -> None:
        """Request the members of these groups."""
        self._tell({"ask": "describe", "groups": list(groups)})

    def count_members(self, group: str) -> None:
        """Request the number of members of a group of any kind."""
        self._tell({"ask": "members", "group": group})

    def take(self, *, wait_s: float = 0.0) -> list[Told]:
        """Return new answers, after at most `wait_s`; raises UnavailableError if the process has ended."""
        found = _taken(self._answers, wait_s)
        if not found and (self._process is None or self._process.poll() is not None):
            raise self._ended()
        return found

    def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _tell(self, line: dict[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(line).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._ended() from error

    def _ended(self) -> UnavailableError:
        status = None if self._process is None else self._process.poll()
        said = f" (its last output: {self._said[0]})" if self._said else ""
        return UnavailableError(
            f"cluster {self._cluster}: the process that asks about its groups ended, with status {status}"
            f"{said}; restarting it"
        )


class DirectAsker:
    """The same in this process, for one that may be aborted with its client (see `GroupOffsets`)."""

    def __init__(self, settings: ClientSettings, *, cluster: str, timeout_s: float = 10.0) -> None:
        self._make = partial(GroupOffsets, settings, cluster=cluster, timeout_s=timeout_s)
        self._answers: queue.SimpleQueue[Told] = queue.SimpleQueue()
        self._asking: GroupOffsets | None = None

    def start(self) -> None:
        """Create the client; what an earlier one was asked is never answered."""
        self._answers = queue.SimpleQueue()
        self._asking = self._make(sink=self._answers.put)

    def list_groups(self) -> None:
        """Request the list of consumer groups."""
        self._client.list_groups()

    def ask_right(self) -> None:
        """Request whether groups may be described."""
        self._client.ask_right()

    def ask(self, groups: Sequence[str]) -> None:
        """Request the committed offsets of these groups."""
        for group in groups:
            self._client.ask(group)

    def count_members(self, group: str) -> None:
        """Request the number of members of a group of any kind."""
        self._client.count_members(group)

    def take(self, *, wait_s: float = 0.0) -> list[Told]:
        """Return new answers, after at most `wait_s`."""
        self._client.hear()
        return _taken(self._answers, wait_s)

    def end(self) -> None:
        """Let go of the client."""
        self._asking = None

    @property
    def _client(self) -> GroupOffsets:
        assert self._asking is not None
        return self._asking


def _taken(answers: queue.SimpleQueue[Told], wait_s: float) -> list[Told]:
    """Return what is in a queue, after at most `wait_s`."""
    found: list[Told] = []
    with suppress(queue.Empty):
        if wait_s > 0:
            found.append(answers.get(timeout=wait_s))
        while True:
            found.append(answers.get_nowait())
    return found


def _listen(stream: BinaryIO, answers: queue.SimpleQueue[Told]) -> None:
    with stream:
        for line in stream:
            if not line.endswith(b"\n"):
                return  # the process ended in the midst of it
            found = json.loads(line)
            answers.put(_KINDS[found.pop("kind")](**found))


def _hear_out(stream: BinaryIO, said: deque[str]) -> None:
    with stream:
        for line in stream:
            text = "".join(char for char in line.decode(errors="replace").strip() if char.isprintable())
            if text:
                said.append(text[:_MAX_CHARS])


def main() -> None:
    """Answer until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it tells when to end
    orders = json.loads(sys.stdin.buffer.readline() or b"null")
    if orders is None:
        return
    told: queue.SimpleQueue[Told] = queue.SimpleQueue()
    threading.Thread(target=_write, args=(told,), daemon=True).start()
    try:
        asking = GroupOffsets(
            ClientSettings(orders["librdkafka"]),
            cluster=orders["cluster"],
            timeout_s=orders["timeout_s"],
            sink=told.put,
        )
    except MirrorwatchError as error:
        told.put(Failed("client", "", str(error), refused=True))
        for _ in sys.stdin.buffer:
            told.put(Failed("client", "", str(error), refused=True))
        return
    ending = threading.Event()
    threading.Thread(target=_hear, args=(asking, ending), daemon=True).start()
    for line in sys.stdin.buffer:
        _put(asking, json.loads(line))
    ending.set()
    sys.stdout.buffer.flush()
    os._exit(0)  # closing a client would wait for requests in flight


def _put(asking: GroupOffsets, question: dict[str, Any]) -> None:
    match question["ask"]:
        case "list":
            asking.list_groups()
        case "others":
            asking.count_others()
        case "right":
            asking.ask_right()
        case "offsets":
            for group in question["groups"]:
                asking.ask(group)
        case "describe":
            asking.describe(question["groups"])
        case "members":
            asking.count_members(question["group"])


def _hear(asking: GroupOffsets, ending: threading.Event) -> None:
    while not ending.wait(_HEAR_S):
        asking.hear()


def _write(told: queue.SimpleQueue[Told]) -> None:
    while True:
        one = told.get()
        line = json.dumps({"kind": type(one).__name__, **asdict(one)}).encode() + b"\n"
        try:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
        except OSError:
            os._exit(0)  # the caller has gone


if __name__ == "__main__":
    main()
