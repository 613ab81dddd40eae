"""What offsets, topic ids and settings show to have been lost or changed, by partition. Pure.

A finding stands beside the verdict: a mirror that lost records an hour's traffic ago moves like any other.
Those that hold (a topic is filtered, is stamped anew) come with each look with the time of that look; those
that happened (overtaken, a topic made anew) keep the time of their evidence and are told for `HELD_MS`.
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

# All others are about records that are not there.
_VERDICTS = {Cause.RETIMED: Verdict.ALTERED, Cause.DUPLICATING: Verdict.REPEATING}


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorFinding:
    """Records of one partition (of a whole topic where it is None) that are lost or altered.

    `code` is a cause. `first_offset` and `last_offset` are on the side that is named. `records` is how many
    records there are at least, `records_most` how many at most: the number is exact where both are equal, and
    has no upper bound where the latter is None. Both are None where nothing is known. A finding that is not
    `proved` is a suspicion: it has another explanation, which the sentence names, and leaves the verdict
    alone. Its numbers hold if it is right.
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
        """Return what it makes of the flow where it is proved."""
        return _VERDICTS.get(self.code, Verdict.LOSING)

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it; `records_kind` is exact, between, at_least or none."""
        kind = bounds_kind(self.records, self.records_most)
        return {
            **asdict(self),
            "code": str(self.code),
            "verdict": str(self.verdict),
            "records_kind": kind,
        }


def listed(findings: Iterable[MirrorFinding], *, most: int) -> list[MirrorFinding]:
    """Return at most so many: what is proved before suspicions, and the causes in turn."""
    turns: Counter[tuple[bool, Cause]] = Counter()
    ranked = []
    for one in findings:
        kind = not one.proved, one.code
        ranked.append((not one.proved, turns[kind], one))
        turns[kind] += 1
    ranked.sort(key=lambda each: each[:2])
    return [one for *_, one in ranked[:most]]
