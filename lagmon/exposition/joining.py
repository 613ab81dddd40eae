"""One answer of `/metrics`: the client library's part, then the large families."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lagmon.exposition.compression import Checksum, Deflated, member_end, member_head
from lagmon.exposition.format import Form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_END = b"# EOF\n"


def around(own: bytes, form: Form) -> tuple[bytes, bytes]:
    """Return the text before the large families, which is `own`, and after them: OpenMetrics' end."""
    return own.removesuffix(_END), _END if form is Form.OPENMETRICS else b""


def around_packed(own: bytes, form: Form) -> tuple[bytes, Callable[[Checksum], bytes]]:
    """Return the same for one gzip member; the end depends on the large families' checksum."""
    before, after = around(own, form)
    first, last = Deflated([before]), Deflated([after] if after else [])
    packed = member_head() + b"".join(first)

    def end(large: Checksum) -> bytes:
        return b"".join(last) + member_end(first.checksum.then(large).then(last.checksum))

    return packed, end


def joined(own: bytes, large: Iterable[bytes], form: Form) -> Iterator[bytes]:
    """Yield the answer: `own` from the client library, `large`, and OpenMetrics' end if required.

    Both parts are whole lines; an end mark in `own` moves to the end.
    """
    before, after = around(own, form)
    yield before
    yield from large
    if after:
        yield after


def joined_gzip(
    own: bytes, large: Iterable[bytes], large_checksum: Callable[[], Checksum], form: Form
) -> Iterator[bytes]:
    """Yield the same answer as one gzip member; `large` is already compressed by `Deflated`.

    `large_checksum` is called after the last of `large`; without large families it returns `Checksum()`.
    """
    before, end = around_packed(own, form)
    yield before
    yield from large
    yield end(large_checksum())
