"""One answer of `/metrics` from what the client library tells and the large families after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lagmon.exposition.compression import Checksum, Deflated, member_end, member_head
from lagmon.exposition.format import Form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_END = b"# EOF\n"


def around(own: bytes, form: Form) -> tuple[bytes, bytes]:
    """Return what stands before the large families, which is `own`, and what after: OpenMetrics' end."""
    return own.removesuffix(_END), _END if form is Form.OPENMETRICS else b""


def around_packed(own: bytes, form: Form) -> tuple[bytes, Callable[[Checksum], bytes]]:
    """Return the same of one gzip member; what stands after follows from the large ones' checksum."""
    before, after = around(own, form)
    first, last = Deflated([before]), Deflated([after] if after else [])
    packed = member_head() + b"".join(first)

    def end(large: Checksum) -> bytes:
        return b"".join(last) + member_end(first.checksum.then(large).then(last.checksum))

    return packed, end


def joined(own: bytes, large: Iterable[bytes], form: Form) -> Iterator[bytes]:
    """Yield the answer: `own`, which the client library wrote, `large`, and OpenMetrics' end where it is due.

    Both parts are whole lines; an end that `own` has already moves behind `large`.
    """
    before, after = around(own, form)
    yield before
    yield from large
    if after:
        yield after


def joined_gzip(
    own: bytes, large: Iterable[bytes], large_checksum: Callable[[], Checksum], form: Form
) -> Iterator[bytes]:
    """Yield the same answer as one gzip member; `large` is compressed already, as `Deflated` does it.

    `large_checksum` is asked for after the last of `large`; where there is nothing, it gives `Checksum()`.
    """
    before, end = around_packed(own, form)
    yield before
    yield from large
    yield end(large_checksum())
