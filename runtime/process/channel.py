"""Requests between two processes, over a socket in a private folder.

A request is a JSON object. An answer is a JSON object, its head, followed by bytes in pieces. Each has a
prefix with its length in four bytes, big-endian; a piece of length 0 ends an answer. A connection has one
request, so a long answer does not block another.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fleet.errors import MalformedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
    from pathlib import Path

PIECE_BYTES = 1 << 16  # handed on at once: more would hold up the event loop of whoever passes it on
MAX_TEXT_BYTES = 1 << 24  # of a question or a head
_SIZE = 4


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: a head, and bytes in pieces of any length."""

    head: dict[str, Any] = field(default_factory=dict)
    pieces: Iterable[bytes] = ()


async def listen(
    path: Path, answer: Callable[[dict[str, Any]], Awaitable[Answer]], *, wrong: Callable[[Exception], None]
) -> asyncio.Server:
    """Answer requests at this path until the server is closed.

    A question that `answer` fails at is told to `wrong`, and its connection ends without an answer.
    """

    async def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            found = await answer(await _read_text(reader))
            _write(writer, json.dumps(found.head).encode())
            for piece in found.pieces:
                for start in range(0, len(piece), PIECE_BYTES):
                    _write(writer, piece[start : start + PIECE_BYTES])
                    await writer.drain()
            writer.write(bytes(_SIZE))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the caller has gone
        except Exception as error:  # noqa: BLE001 - one bad question must not end the others
            wrong(error)
        finally:
            writer.close()

    return await asyncio.start_unix_server(attend, path)


async def ask(path: Path, question: dict[str, Any], *, timeout_s: float) -> tuple[dict[str, Any], bytes]:
    """Return head and bytes of the answer; raises UnavailableError without one in time."""
    try:
        async with asyncio.timeout(timeout_s):
            head, pieces = await stream(path, question, timeout_s=timeout_s)
            async with aclosing(pieces):
                return head, b"".join([piece async for piece in pieces])
    except TimeoutError as error:
        raise UnavailableError(_words(error, timeout_s)) from error


async def stream(
    path: Path, question: dict[str, Any], *, timeout_s: float
) -> tuple[dict[str, Any], AsyncGenerator[bytes]]:
    """Return the head of the answer and its pieces as they come, of at most PIECE_BYTES each.

    The pieces are to be read to their end or closed: until then they hold a connection. Raises
    UnavailableError where the other process cannot be reached or ends before its answer does. Each piece has
    `timeout_s` to come.
    """
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                _write(writer, json.dumps(question).encode())
                await writer.drain()
                head = await _read_text(reader)
            except BaseException:
                writer.close()
                raise
    except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
        raise UnavailableError(_words(error, timeout_s)) from error
    return head, _pieces(reader, writer, timeout_s)


async def _pieces(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout_s: float
) -> AsyncGenerator[bytes]:
    try:
        while True:
            async with asyncio.timeout(timeout_s):
                size = int.from_bytes(await reader.readexactly(_SIZE), "big")
                if not size:
                    return
                if size > PIECE_BYTES:
                    raise MalformedError(f"A piece of an answer has {size} bytes, more than it may.")
                piece = await reader.readexactly(size)
            yield piece
    except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
        raise UnavailableError(_words(error, timeout_s)) from error
    finally:
        writer.close()


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(len(data).to_bytes(_SIZE, "big"))
    writer.write(data)


async def _read_text(reader: asyncio.StreamReader) -> dict[str, Any]:
    size = int.from_bytes(await reader.readexactly(_SIZE), "big")
    if size > MAX_TEXT_BYTES:
        raise MalformedError(f"A question or a head has {size} bytes, more than it may.")
    try:
        found = json.loads(await reader.readexactly(size))
    except ValueError as error:
        raise MalformedError("A question or a head is not JSON.") from error
    if not isinstance(found, dict):
        raise MalformedError("A question or a head is not a JSON object.")
    return found


def _words(error: BaseException, timeout_s: float) -> str:
    match error:
        case TimeoutError():
            return f"there was no answer within {timeout_s:g} s"
        case asyncio.IncompleteReadError():
            return "it ended before its answer did"
        case FileNotFoundError():
            return "it is not listening yet"
        case OSError():
            return f"it cannot be reached: {error.strerror or error}"
        case _:
            return str(error)
