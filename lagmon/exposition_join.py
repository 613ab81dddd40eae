"""One answer of `/metrics` from what the client library tells and the large families after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lagmon.exposition_format import Form
from lagmon.exposition_gzip import Checksum, Deflated, member_end, member_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_END = b"# EOF\n"


def joined(own: bytes, large: Iterable[bytes], form: Form) -> Iterator[bytes]:
    """Yield the answer: `own`, which the client library wrote, `large`, and OpenMetrics' end where it is due.

    Both parts are whole lines; an end that `own` has already moves behind `large`.
    """
    yield own.removesuffix(_END)
    yield from large
    if form is Form.OPENMETRICS:
        yield _END


def joined_gzip(
    own: bytes, large: Iterable[bytes], large_checksum: Callable[[], Checksum], form: Form
) -> Iterator[bytes]:
    """Yield the same answer as one gzip member; `large` is compressed already, as `Deflated` does it.

    `large_checksum` is asked for after the last of `large`; where there is nothing, it gives `Checksum()`.
    """
    first = Deflated([own.removesuffix(_END)])
    yield member_head()
    yield from first
    yield from large
    last = Deflated([_END] if form is Form.OPENMETRICS else [])
    yield from last
    yield member_end(first.checksum.then(large_checksum()).then(last.checksum))
