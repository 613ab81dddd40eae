"""Judges every flow: evidence of canary, offsets and audits in, verdicts and log lines out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.verdicts import checksum as rules_checksum
from fleet.verdicts import offsets as rules_offsets
from fleet.verdicts.evidence import CanaryState, ClusterEvidence, Control
from fleet.verdicts.judgement import follow, follow_calm
from mirrorwatch.service.event_log import lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from canary.prober import Prober
    from fleet.verdicts.checksum_evidence import ChecksumEvidence
    from fleet.verdicts.evidence import FlowEvidence, LagEvidence
    from fleet.verdicts.vocabulary import FlowVerdict
    from mirrorwatch.lag.collected import Unanswered
    from mirrorwatch.service.event_log import Line

    # Evidence of offsets by flow; None if they are not watched.
    LagOf = Callable[[str], LagEvidence | None]
    # Evidence of checksums; None if no run has ended.
    ChecksumOf = Callable[[str], ChecksumEvidence | None]
    # Since when a cluster has not answered the lag monitor, and why; None if it answers.
    UnansweredOf = Callable[[str], Unanswered | None]


class Judging:
    """Keeps the verdict of each flow; `tell` gets a log line after each change."""

    def __init__(
        self,
        *,
        lag_of: LagOf,
        checksum_of: ChecksumOf = lambda _flow: None,
        unanswered: UnansweredOf = lambda _alias: None,
        tell: Callable[[Line], None],
    ) -> None:
        self.verdicts: dict[str, FlowVerdict] = {}
        self._lag_of = lag_of
        self._checksum_of = checksum_of
        self._unanswered = unanswered
        self._tell = tell

    def judge(self, prober: Prober, *, now_at: float) -> None:
        """Judge every flow by the present evidence; a healthy flow takes a short path."""
        for name in prober.flows:
            before, lag, checksum = self.verdicts.get(name), self._lag_of(name), self._checksum_of(name)
            quiet = rules_offsets.is_quiet(lag, now_at) and rules_checksum.is_quiet(checksum, now_at)
            calm = prober.healthy(name) if quiet else None
            if calm is not None:
                verdict = follow_calm(before, calm, now_at=now_at, lag=lag, checksum=checksum)
            else:
                evidence = replace(self._evidence(prober, name, now_at), lag=lag, checksum=checksum)
                verdict = follow(before, evidence, now_at=now_at)
            self.verdicts[name] = verdict
            for line in lines_of(before, verdict):
                self._tell(line)

    def _evidence(self, prober: Prober, name: str, now_at: float) -> FlowEvidence:
        """Return the canary's evidence; without a canary, the lag monitor's view of down clusters."""
        found = prober.evidence(name)
        if found.canary.state is not CanaryState.OFF:
            return found
        source, target = self._asked(found.source, now_at), self._asked(found.target, now_at)
        return replace(found, source=source, target=target)

    def _asked(self, cluster: ClusterEvidence, now_at: float) -> ClusterEvidence:
        """Return the lag monitor's view of a cluster without control probes."""
        one = self._unanswered(cluster.alias)
        if one is None or cluster.control is not Control.UNKNOWN:
            return cluster
        failing = replace(cluster, control=Control.FAILING, sentence=one.sentence, since_at=one.since_at)
        return replace(failing, last_failed_at=now_at)

    def forget(self, flows: Iterable[str]) -> None:
        """Forget flows that are no longer judged, or start again."""
        for name in flows:
            self.verdicts.pop(name, None)

    def move_instants(self, by_s: float) -> None:
        """Shift times after the wall clock was set by this many seconds."""
        self.verdicts = {name: one.moved(by_s) for name, one in self.verdicts.items()}
