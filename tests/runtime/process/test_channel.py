"""Questions and answers over a real socket."""

from __future__ import annotations

import asyncio

import pytest

from fleet.errors import MalformedError, UnavailableError
from runtime.process import channel
from runtime.process.channel import PIECE_BYTES, Answer


@pytest.fixture
async def asked(tmp_path):
    """Give a function that serves answers at a socket and returns its path; `wrong` collects what failed."""
    servers, wrong = [], []
    path = tmp_path / "socket"

    async def serve(answer):
        servers.append(await channel.listen(path, answer, wrong=wrong.append))
        return path

    serve.wrong = wrong
    yield serve
    for server in servers:
        server.close()


async def test_a_question_gets_its_own_answer_whatever_else_is_asked(asked):
    async def answer(question):
        return Answer({"of": question["number"]}, [b"%d" % question["number"]] * question["number"])

    path = await asked(answer)
    answers = await asyncio.gather(
        *(channel.ask(path, {"number": number}, timeout_s=20) for number in range(40))
    )
    assert answers == [({"of": number}, b"%d" % number * number) for number in range(40)]
    assert asked.wrong == []


async def test_a_long_answer_comes_in_pieces_that_are_short(asked):
    body = bytes(range(256)) * 2000

    async def answer(_question):
        return Answer({}, [body, b"", b"end"])

    _, pieces = await channel.stream(await asked(answer), {}, timeout_s=20)
    found = [piece async for piece in pieces]
    assert max(map(len, found)) <= PIECE_BYTES
    assert b"".join(found) == body + b"end"


async def test_a_question_that_fails_is_told_and_ends_no_other(asked):
    async def answer(question):
        return Answer({"found": 1 // question["by"]})

    path = await asked(answer)
    with pytest.raises(UnavailableError, match="it ended before its answer did"):
        await channel.ask(path, {"by": 0}, timeout_s=20)
    assert await channel.ask(path, {"by": 1}, timeout_s=20) == ({"found": 1}, b"")
    assert [type(error) for error in asked.wrong] == [ZeroDivisionError]


async def test_one_who_ends_within_an_answer_is_noticed(asked):
    def pieces():
        yield b"a beginning"
        raise OSError("it broke")

    async def answer(_question):
        return Answer({}, pieces())

    with pytest.raises(UnavailableError, match="it ended before its answer did"):
        await channel.ask(await asked(answer), {}, timeout_s=20)
    assert [str(error) for error in asked.wrong] == ["it broke"]


async def test_without_anybody_there_it_says_so(tmp_path):
    with pytest.raises(UnavailableError, match="it is not listening yet"):
        await channel.ask(tmp_path / "nobody", {}, timeout_s=20)


async def test_one_who_never_answers_is_not_waited_for(asked):
    never = asyncio.Event()

    async def answer(_question):
        await never.wait()
        return Answer()

    with pytest.raises(UnavailableError, match=r"no answer within 0\.05 s"):
        await channel.ask(await asked(answer), {}, timeout_s=0.05)
    never.set()


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        (b"\xff\xff\xff\xff", "more than it may"),
        (b"\x00\x00\x00\x04[1]]", "is not JSON"),
        (b"\x00\x00\x00\x03[1]", "is not a JSON object"),
    ],
    ids=["too long", "no JSON", "no object"],
)
async def test_what_is_no_question_is_refused(asked, sent, sentence):
    async def answer(_question):
        raise AssertionError("there was no question")

    reader, writer = await asyncio.open_unix_connection(await asked(answer))
    writer.write(sent)
    await writer.drain()
    assert await reader.read() == b""
    writer.close()
    (error,) = asked.wrong
    assert isinstance(error, MalformedError)
    assert sentence in str(error)
