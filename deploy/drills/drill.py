"""What a drill is: a fault of the register, how it is set up, and what is to be said of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.verdicts.vocabulary import Cause, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

ALARMS = frozenset({Verdict.LOSING, Verdict.ALTERED, Verdict.REPEATING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    """A fault of the register and what is to be said of it; `verdict` None: no alarm, and nothing lost."""

    name: str
    verdict: Verdict | None
    cause: Cause | None = None
    suspected: Cause | None = None  # what is to be listed as a suspicion; any other is wrong beside no alarm
    happened: str = ""  # the kind of event that is to be listed, with records that came again
    watch_s: float = 20.0  # how long what is said is listened to at most; less where it was said
    after_s: float = 0.0  # how long it is listened to after it was ended, at least
    then: Verdict = Verdict.HEALTHY  # what the flow comes back to once the fault ends
    sweeping: bool = False  # harms what others look at too, so that no later service may run meanwhile
    own: bool = False  # a service and a topic of its own
    by_offsets: bool = False  # no canary: what offsets say alone
    back_s: float = 60.0  # how long it is listened to after it was ended, at most
    topic: str = ""  # where it is neither the canary's nor the one that the register names
    settings: Mapping[str, str] = field(default_factory=dict)  # of the mirror, beside the usual quick ones
    told: Mapping[str, str] = field(default_factory=dict)  # of the mirror, which the service is told instead
    canary: Mapping[str, str] = field(default_factory=dict)  # of the service's configuration
    lag: Mapping[str, str] = field(default_factory=dict)  # of the service's configuration
    accepted: frozenset[Cause] = frozenset()  # causes beside the expected that are true while they are told
    shows_mended: bool = False  # what is expected can show only once it is being ended
    counted: str = ""  # what has to stand in the counters at its end, or the fault did not reach them
    title: str = ""  # what tells it from another drill of the same fault

    @property
    def label(self) -> str:
        """Return what it is called on the command line."""
        return self.title or self.name

    @property
    def causes(self) -> frozenset[Cause]:
        """Return the causes of which one is to be told; empty where any will do."""
        if self.cause is not None:
            return frozenset({self.cause})
        return self.accepted if self.verdict is Verdict.STALLED else frozenset()

    @property
    def counts(self) -> bool:
        """Return whether numbers of lost records that are stated are compared with the truth."""
        return self.by_offsets and (bool({self.verdict, self.then} & ALARMS) or self.suspected is not None)

    @property
    def shared(self) -> str:
        """Return what the service is called that several drills share."""
        return "offsets" if self.by_offsets else "shared"

    @property
    def alone(self) -> bool:
        """Return whether it needs a service of its own."""
        said = {self.verdict, self.then}
        return self.own or bool(said & ALARMS) or bool(self.canary or self.lag or self.told)
