"""Records that offsets, topic ids and settings show to be lost or altered, by partition. Pure.

Findings are independent of the verdict: a mirror that lost records an hour ago may move like any other.
Lasting findings (a topic is filtered or stamped) come with the time of each poll. Findings about events
(overtaken, a re-created topic) keep the time of their evidence, and are shown for `HELD_MS`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fleet.quantity import bounds_kind
from fleet.verdicts.vocabulary import Cause, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

HELD_MS = 900_000  # as the canary's are (interface.md, Verdict and cause)

# All other causes are about missing records.
_VERDICTS = {Cause.RETIMED: Verdict.ALTERED, Cause.DUPLICATING: Verdict.REPEATING}


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorFinding:
    """Records of one partition (of a whole topic if None) that are lost or altered.

    `code` is a cause. `first_offset` and `last_offset` are on the named side. `records` is the least number
    of records, `records_most` the most. The number is exact if both are equal, and has no upper bound if the
    latter is None. Both are None if nothing is known. A finding that is not `proved` is a suspicion: it has
    another explanation, which the sentence names, and does not change the verdict. Its numbers hold if it is
    right.
    """

    code: Cause
    topic: str  # its name on the source
    partition: int | None
    at_ms: int
    sentence: str
    records: int | None = None
    first_offset: int | None = None
    last_offset: int | None = None
    side: str = "source"  # source | target
    proved: bool = True
    records_most: int | None = None

    @property
    def verdict(self) -> Verdict:
        """Return the verdict that a proved finding gives the flow."""
        return _VERDICTS.get(self.code, Verdict.LOSING)

    def document(self) -> dict[str, Any]:
        """Return the finding as JSON; `records_kind` is exact, between, at_least or none."""
        kind = bounds_kind(self.records, self.records_most)
        return {
            **asdict(self),
            "code": str(self.code),
            "verdict": str(self.verdict),
            "records_kind": kind,
        }


def listed(findings: Iterable[MirrorFinding], *, most: int) -> list[MirrorFinding]:
    """Return at most `most` findings: proved ones before suspicions, and the causes in turn."""
    turns: Counter[tuple[bool, Cause]] = Counter()
    ranked = []
    for one in findings:
        kind = not one.proved, one.code
        ranked.append((not one.proved, turns[kind], one))
        turns[kind] += 1
    ranked.sort(key=lambda each: each[:2])
    return [one for *_, one in ranked[:most]]
