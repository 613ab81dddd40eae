"""One answer of two parts, plain and as one gzip member that every client reads whole."""

from __future__ import annotations

import gzip
import hashlib
import zlib

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st

from lagmon.exposition.compression import Checksum, Deflated
from lagmon.exposition.format import Form
from lagmon.exposition.joining import joined, joined_gzip

OWN = b"# TYPE a gauge\na 1\n"
LARGE = [f'b{{n="{n}"}} {n}\n'.encode() * 500 for n in range(40)]
WHOLE = {Form.PLAIN: OWN + b"".join(LARGE), Form.OPENMETRICS: OWN + b"".join(LARGE) + b"# EOF\n"}
WRITTEN = {Form.PLAIN: OWN, Form.OPENMETRICS: OWN + b"# EOF\n"}


def packed(own, large, form):
    parts = Deflated(large)
    return list(joined_gzip(own, parts, lambda: parts.checksum, form))


@pytest.mark.parametrize("form", list(Form))
def test_the_end_stands_once_and_last(form):
    assert b"".join(joined(WRITTEN[form], LARGE, form)) == WHOLE[form]


@pytest.mark.parametrize("form", list(Form))
@pytest.mark.parametrize("large", [LARGE, [], [b""]])
def test_one_member_holds_both_parts(form, large):
    # Not `gzip.decompress`, which would read a second member too: what many clients do is this, and stop.
    inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    text = inflate.decompress(b"".join(packed(WRITTEN[form], large, form)))
    assert text == WHOLE[form].replace(b"".join(LARGE), b"".join(large))
    assert inflate.eof
    assert inflate.unused_data == b""


def test_nothing_at_all_is_a_member_too():
    assert gzip.decompress(b"".join(packed(b"", [], Form.PLAIN))) == b""


def test_the_checksum_is_looked_at():
    # Python compares it: a member with another is refused.
    parts = Deflated(LARGE)
    with pytest.raises(gzip.BadGzipFile, match="CRC"):
        gzip.decompress(
            b"".join(joined_gzip(OWN, parts, lambda: Checksum(1, parts.checksum.size), Form.PLAIN))
        )


@given(st.binary(max_size=2000), st.binary(max_size=2000), st.binary(max_size=50))
def test_checksums_are_joined_without_the_texts(first, second, third):
    whole = Checksum().of_more(first).then(Checksum().of_more(second)).then(Checksum().of_more(third))
    assert whole == Checksum(zlib.crc32(first + second + third), len(first + second + third))
    assert whole == Checksum().of_more(first).of_more(second).of_more(third)


@given(st.integers(0, 2**40), st.binary(min_size=1, max_size=9))
def test_a_checksum_of_zeros_so_long_that_nobody_holds_them(size, text):
    # Zeros are the shift itself: two halves of them are the same as the whole.
    zeros = Checksum(zlib.crc32(b""), 0)
    shifted = Checksum().of_more(text)
    assert shifted.then(Checksum(0, size)).then(Checksum(0, size)) == shifted.then(Checksum(0, 2 * size))
    assert shifted.then(zeros) == shifted == zeros.then(shifted)


@given(st.lists(st.binary(max_size=3000), max_size=6), st.binary(max_size=3000), st.sampled_from(list(Form)))
def test_whatever_the_parts_are_they_come_back(large, own, form):
    assert gzip.decompress(b"".join(packed(own, large, form))) == b"".join(joined(own, large, form))


def test_the_large_part_is_handed_on_in_pieces_as_it_is_made():
    made = []

    def chunks():
        for number in range(200):
            made.append(number)
            yield hashlib.shake_128(bytes([number])).hexdigest(5000).encode()

    pieces = iter(Deflated(chunks()))
    next(pieces)
    assert len(made) < 20


@pytest.mark.parametrize("form", list(Form))
async def test_a_client_reads_it_whole(form):
    async def metrics(_request):
        answer = web.StreamResponse(headers={"Content-Encoding": "gzip"})
        await answer.prepare(_request)
        for piece in packed(WRITTEN[form], LARGE, form):
            await answer.write(piece)
        return answer

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    async with (
        TestServer(app) as server,
        ClientSession() as client,
        client.get(server.make_url("/metrics")) as answer,
    ):
        assert await answer.read() == WHOLE[form]
