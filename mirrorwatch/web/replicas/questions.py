"""Questions to the lag monitor and to the failover audit of all shards, with one answer each."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

from fleet.dialect import unknown_name
from fleet.errors import UnavailableError
from lagmon.burrow.paths import error_document
from lagmon.groups.documents import groups_document
from mirrorwatch.web.replicas.gathering import WITHIN_S
from mirrorwatch.web.replicas.merged_groups import merged_counts, merged_groups, with_reasons
from mirrorwatch.web.replicas.merged_lists import lists_consumers, merged_consumers, merged_failover

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mirrorwatch.service.view import MissingShard
    from mirrorwatch.web.replicas.gathering import Gathering

    Answer = tuple[dict[str, Any], bytes]

PATH = "/-/ask"
LAG, FAILOVER = "lag", "failover"
COUNTS_WITHIN_S = 0.8  # less than the main page waits for its counts
ROWS_PER_S = 5_000  # a longer list takes longer to make
MOST_WITHIN_S = 20.0
MOST_ROWS = 50_000  # of each shard, for one page of a list
_DIFFERENT = "its answer has an unknown form; give all replicas the same version"
# How the audit is asked for a part: for whole items, and without addresses of pages.
WHOLE_ITEMS: Mapping[str, Any] = {"address": "", "fields": None}


class Asked(Protocol):
    """Answers questions: the lag monitor, or the failover audit."""

    @property
    def on(self) -> bool:
        """Return whether it is on."""
        ...

    async def ask(self, question: str, **details: Any) -> Answer:
        """Return head and bytes of its answer; raises UnavailableError."""
        ...


class _Everywhere:
    """Asks the own process, and those of other shards over HTTP."""

    def __init__(self, gathering: Gathering, own: Asked, of: str) -> None:
        self._gathering = gathering
        self._own = own
        self._of = of
        self._turn = asyncio.Lock()  # a long list takes seconds of a processor

    @property
    def on(self) -> bool:
        """Return whether the own process is on: the configuration is the same everywhere."""
        return self._own.on

    async def _ask_each(
        self,
        question: str,
        details: Mapping[str, Any],
        *,
        numbers: Iterable[int] | None = None,
        within_s: float = WITHIN_S,
        **own_details: Any,
    ) -> tuple[list[Answer], list[MissingShard]]:
        """Return the answers of all shards or of these, the own first, and the shards without one.

        Raises UnavailableError if there is none.
        """
        mine = self._gathering.mine
        assert mine is not None
        query = urlencode({"of": self._of, "question": question, **details}, errors="surrogatepass")

        async def ask(number: int) -> Answer:
            if number == mine.number:
                return await self._own.ask(question, **details, **own_details)
            body = await self._gathering.document(number, f"{PATH}?{query}", within_s=within_s)
            head, answer = read_answer(body)
            if "code" in head:
                raise UnavailableError(str(json.loads(answer)["error"]))
            return head, answer

        asked = [mine.number, *self._gathering.others()] if numbers is None else numbers
        found, missing = await self._gathering.from_each(ask, asked)
        if not found:
            raise UnavailableError("; ".join(f"{one.shard}: {one.reason}" for one in missing))
        return list(found.values()), missing


class LagEverywhere(_Everywhere):
    """The lag monitors of all shards."""

    def __init__(self, gathering: Gathering, own: Asked) -> None:
        """Ask `own`, and those of other shards."""
        super().__init__(gathering, own, LAG)

    async def ask(self, question: str, **details: Any) -> Answer:
        """Return one answer for all shards to a question about many groups, else the own."""
        if self._gathering.mine is not None:
            if question == "groups":
                return await self._groups(details)
            if question == "group_counts":
                return await self._counts()
            if question == "burrow" and lists_consumers(details["path"]):
                return await self._consumers(details["path"])
        return await self._own.ask(question, **details)

    async def _groups(self, details: Mapping[str, Any]) -> Answer:
        first, most = details.get("first", 0), details.get("most", 100)
        rows = first + most
        if rows > MOST_ROWS:
            return _too_many_rows()
        asked = {name: details.get(name, "") for name in ("search", "kafka_cluster")}
        answers, missing = await self._ask_each(
            "groups", {**asked, "first": 0, "most": rows}, within_s=_within_s(rows)
        )
        if "code" in answers[0][0]:
            return answers[0]
        reasons = [_of_groups(one) for one in missing]

        def merged(parts: list[Any]) -> dict[str, Any]:
            document = merged_groups(parts, reasons, first=first, most=most)
            if "address" in details:
                form = {"address": details["address"], "fields": details.get("fields")}
                document = _without_next_beyond(groups_document(with_reasons(document), **form), rows + most)
            return document

        status = 200 if "address" in details else min(head["status"] for head, _ in answers)
        async with self._turn:
            return {"status": status}, await _merged(answers, merged)

    async def _counts(self) -> Answer:
        answers, missing = await self._ask_each("group_counts", {}, within_s=COUNTS_WITHIN_S)
        reasons = [_of_groups(one) for one in missing]
        return {"status": 200}, await _merged(answers, lambda parts: merged_counts(parts, reasons))

    async def _consumers(self, path: str) -> Answer:
        """Return all consumers, or why some are not known: Burrow's list cannot show that it is partial."""
        answers, missing = await self._ask_each("burrow", {"path": path})
        refused = next((one for one in answers if one[0]["status"] != HTTPStatus.OK), None)
        if refused is not None:
            return refused
        if not missing:
            return answers[0][0], await _merged(answers, merged_consumers)
        sentence, request = " ".join(map(_of_groups, missing)), json.loads(answers[0][1])["request"]
        document = json.dumps(error_document(sentence, request)).encode()
        return {"status": int(HTTPStatus.SERVICE_UNAVAILABLE)}, document


class FailoverEverywhere(_Everywhere):
    """The failover audits of all shards."""

    def __init__(self, gathering: Gathering, own: Asked) -> None:
        """Ask `own`, and those of other shards."""
        super().__init__(gathering, own, FAILOVER)

    async def ask(self, question: str, **details: Any) -> Answer:
        """Return one answer for all shards to the question about many groups, else the own."""
        if self._gathering.mine is not None and question == "groups":
            return await self._groups(details)
        return await self._own.ask(question, **details)

    async def _groups(self, details: Mapping[str, Any]) -> Answer:
        first, most, flow = details["first"], details["most"], details["flow"]
        rows = first + most
        if rows > MOST_ROWS:
            return _too_many_rows()
        number = self._gathering.peers.number_of(flow) if flow else None
        if flow and number is None:
            sentence = unknown_name("flow", flow, self._gathering.flows())
            return _refusal(HTTPStatus.NOT_FOUND, "unknown_flow", sentence)
        answers, missing = await self._ask_each(
            "groups",
            {"search": details["search"], "flow": flow, "first": 0, "most": rows},
            numbers=None if number is None else [number],
            within_s=_within_s(rows),
            **WHOLE_ITEMS,
        )
        if "code" in answers[0][0]:
            return answers[0]

        def merged(parts: list[Any]) -> dict[str, Any]:
            form = {"address": details["address"], "fields": details["fields"]}
            document = merged_failover(parts, missing, first=first, most=most, **form)
            return _without_next_beyond(document, rows + most)

        async with self._turn:
            return {"status": 200}, await _merged(answers, merged)


def written_answer(answer: Answer) -> bytes:
    """Return an answer as the body of a part: its head as a line, then its bytes."""
    head, body = answer
    return json.dumps(head).encode() + b"\n" + body


def read_answer(body: bytes) -> Answer:
    """Return the answer of a part; raises UnavailableError if it is not one."""
    head, _, rest = body.partition(b"\n")
    try:
        return dict(json.loads(head)), rest
    except (RecursionError, TypeError, ValueError) as error:
        raise UnavailableError(_DIFFERENT) from error


async def _merged(answers: Iterable[Answer], merge: Callable[[list[Any]], dict[str, Any]]) -> bytes:
    """Return what a function makes of the documents, in a thread; raises UnavailableError if they differ."""

    def work() -> bytes:
        return json.dumps(merge([json.loads(body) for _, body in answers])).encode()

    try:
        return await asyncio.to_thread(work)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise UnavailableError(_DIFFERENT) from error


def _of_groups(shard: MissingShard) -> str:
    return f"Groups of {shard.shard} are not shown: {shard.reason}."


def _within_s(rows: int) -> float:
    return min(WITHIN_S + rows / ROWS_PER_S, MOST_WITHIN_S)


def _without_next_beyond(document: dict[str, Any], rows: int) -> dict[str, Any]:
    """Return a page that is the last one if the next one, which ends at `rows`, would be refused."""
    return {**document, "next": None} if rows > MOST_ROWS else document


def _too_many_rows() -> Answer:
    sentence = f"offset: more than {MOST_ROWS:,} items from the first to the last; search for fewer"
    return _refusal(HTTPStatus.BAD_REQUEST, "invalid_query", sentence)


def _refusal(status: HTTPStatus, code: str, sentence: str) -> Answer:
    return {"status": int(status), "code": code}, json.dumps({"error": sentence}).encode()
