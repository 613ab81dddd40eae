"""Connectors in JSON: a worker's REST answers, and the files posted to it.

Known forms: `{name, config}` (also with more fields), a bare configuration, a list of either,
and the answer to GET /connectors?expand=info&expand=status. Recorded from Kafka 4.3.0 in
tests/mirrorwatch/golden_connect.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fleet.connect.kinds import Connector, Task
from fleet.errors import MalformedError
from fleet.wire.connect import decode_source_offset, encode_source_offset
from fleet.wire.records import SourceOffset, SourceOffsetKey, Tombstone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LONGEST_NAME = 500


def expanded(document: Any) -> tuple[Connector, ...]:
    """Return the connectors of an answer with info and status, by name; raises MalformedError."""
    if not isinstance(document, dict):
        raise MalformedError("not a list of connectors")
    return tuple(sorted((_answered(name, each) for name, each in document.items()), key=lambda one: one.name))


def written(document: Any) -> tuple[Connector, ...]:
    """Return the connectors of a file; raises MalformedError with a clause."""
    if _is_expanded(document):
        return expanded(document)
    listed = document if isinstance(document, list) else [document]
    if not listed:
        raise MalformedError("is an empty list; write a connector's name and config")
    found = [_written(each, number if len(listed) > 1 else None) for number, each in enumerate(listed)]
    names = [each.name for each in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise MalformedError(f"has two connectors called {twice[0]}; give each its own name")
    return tuple(found)


def answered_offsets(document: Any, connector: str) -> list[SourceOffset]:
    """Return the source offsets in an answer to GET /connectors/{name}/offsets; raises MalformedError."""
    listed = document.get("offsets") if isinstance(document, dict) else None
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise MalformedError("not the offsets of a connector")
    found = (
        decode_source_offset(*(json.dumps(part).encode() for part in _entry(each, connector)))
        for each in listed
    )
    return [one for one in found if isinstance(one, SourceOffset)]


def posted_offsets(records: Iterable[SourceOffset | Tombstone[SourceOffsetKey]]) -> dict[str, Any]:
    """Return the document for PATCH /connectors/{name}/offsets (KIP-875); a tombstone removes an offset."""
    offsets = []
    for record in records:
        key, value = encode_source_offset(record)
        offset = None if value is None else json.loads(value)
        offsets.append({"partition": json.loads(key)[1], "offset": offset})
    return {"offsets": offsets}


def _entry(each: dict[str, Any], connector: str) -> tuple[Any, Any]:
    return [connector, each.get("partition")], each.get("offset")


def _is_expanded(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and bool(document)
        and all(isinstance(each, dict) and "info" in each for each in document.values())
    )


def _written(each: Any, number: int | None) -> Connector:
    which = "is" if number is None else f"has an entry (number {number + 1}) that is"
    if not isinstance(each, dict):
        raise MalformedError(f"{which} not a connector; write its name and config")
    config = each.get("config", each)
    if not isinstance(config, dict) or "connector.class" not in config:
        raise MalformedError(f"{which} not a connector: connector.class is missing")
    name = each.get("name") or config.get("name")
    if isinstance(name, str) and name:
        return Connector(name[:_LONGEST_NAME], dict(_properties(config)))
    # As PUT /connectors/{name}/config takes it: the name is in the address.
    name = str(config["connector.class"]).rsplit(".", 1)[-1]
    return Connector(name[:_LONGEST_NAME], dict(_properties(config)), named=False)


def _answered(name: str, each: Any) -> Connector:
    info = each.get("info") if isinstance(each, dict) else None
    config = info.get("config") if isinstance(info, dict) else None
    if not isinstance(config, dict):
        raise MalformedError("not a list of connectors with their configuration")
    status = each.get("status")
    status = status if isinstance(status, dict) else {}
    connector = status.get("connector")
    state = connector.get("state") if isinstance(connector, dict) else None
    return Connector(
        name[:_LONGEST_NAME],
        dict(_properties(config)),
        state=state if isinstance(state, str) else "",
        tasks=tuple(_tasks(status.get("tasks"))),
    )


def _tasks(listed: Any) -> Iterator[Task]:
    for each in listed if isinstance(listed, list) else ():
        number, state = (each.get("id"), each.get("state")) if isinstance(each, dict) else (None, None)
        if isinstance(number, int) and isinstance(state, str):
            yield Task(number, state)


def _properties(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield every property as Connect's text of it, without nulls."""
    for key, value in config.items():
        if isinstance(value, str):
            yield key, value
        elif value is not None:
            yield key, json.dumps(value)
