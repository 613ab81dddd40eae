"""Source offsets of Kafka Connect, as the source connector writes them to its worker's offsets topic.

Schemaless JSON: key `["MirrorSourceConnector",{"cluster":"A","partition":0,"topic":"t"}]`, value
`{"offset":41}`. Element 0 is the connector's name, which the user chooses in Connect mode. What identifies a
mirrored partition is the second element: exactly the three names that MirrorUtils.wrapPartition writes and
looks up by. Any other entry of the topic (heartbeat and checkpoint connectors, other connectors of a
shared worker) is `NotMirrored`.

A null value is a reset (KIP-875). The topic is written in transactions where exactly-once is on, so it is
read with `read_committed`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fleet.errors import MalformedError
from fleet.wire.bytes import present
from fleet.wire.records import NotMirrored, SourceOffset, SourceOffsetKey, Tombstone

if TYPE_CHECKING:
    from typing import NoReturn

_KEY = "key of a source offset"
_VALUE = "value of a source offset"
_MAX_PARTITION = (1 << 31) - 1
_MAX_OFFSET = (1 << 63) - 2  # the next offset, N+1, has to fit into a long too


def decode_source_offset(
    key: bytes | None, value: bytes | None
) -> SourceOffset | Tombstone[SourceOffsetKey] | NotMirrored:
    """Decode one record of an offsets topic; raises MalformedError.

    The value of an entry that is not a mirrored partition is not decoded.
    """
    connector, partition = _key_parts(_json(key, _KEY))
    if not isinstance(partition, dict) or partition.keys() != {"cluster", "topic", "partition"}:
        return NotMirrored(connector)
    place = SourceOffsetKey(
        connector,
        _text(partition["cluster"], "cluster", _KEY),
        _text(partition["topic"], "topic", _KEY),
        _whole(partition["partition"], "partition", _MAX_PARTITION, _KEY),
    )
    content = None if value is None else _json(value, _VALUE)
    if content is None:
        return Tombstone(place)
    if not isinstance(content, dict) or "offset" not in content:
        raise MalformedError(f"The {_VALUE} is JSON, but not an object with an offset.")
    return SourceOffset(place, _whole(content["offset"], "offset", _MAX_OFFSET, _VALUE))


def encode_source_offset(record: SourceOffset | Tombstone[SourceOffsetKey]) -> tuple[bytes, bytes | None]:
    """Encode key and value as Connect's JsonConverter does, names in MirrorMaker's order."""
    place = record.key
    partition = {"cluster": place.cluster, "partition": place.partition, "topic": place.topic}
    key = _compact([place.connector, partition])
    match record:
        case Tombstone():
            return key, None
        case SourceOffset():
            return key, _compact({"offset": record.offset})


def _compact(content: object) -> bytes:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def _json(data: bytes | None, what: str) -> object:
    try:
        content: object = json.loads(present(data, what).decode("utf-8"), parse_constant=_refuse)
    except RecursionError as error:
        raise MalformedError(f"The {what} is JSON nested too deeply to be one.") from error
    except ValueError as error:  # no UTF-8, no JSON, or a number of thousands of digits
        raise MalformedError(f"The {what} is not JSON.") from error
    return content


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _key_parts(content: object) -> tuple[str, object]:
    match content:
        case [connector, partition]:
            return _text(connector, "connector", _KEY), partition
        case _:
            raise MalformedError(
                f"The {_KEY} is JSON, but not a pair of a connector's name and its partition."
            )


def _text(content: object, field: str, what: str) -> str:
    if not isinstance(content, str):
        raise MalformedError(f"The {field} in the {what} is not text.")
    try:
        content.encode("utf-8")
    except UnicodeEncodeError as error:  # half of a surrogate pair, which JSON's escapes can spell
        raise MalformedError(f"The {field} in the {what} is not Unicode text.") from error
    return content


def _whole(content: object, field: str, largest: int, what: str) -> int:
    # JSON's true would pass as the integer 1.
    if isinstance(content, bool) or not isinstance(content, int):
        raise MalformedError(f"The {field} in the {what} is not a whole number.")
    if not 0 <= content <= largest:
        raise MalformedError(f"The {field} in the {what} is outside 0 to {largest}.")
    return content
