"""Whether a process stays as large as it is: the Theil-Sen slope of its samples. Pure.

The slope is the median of the slopes between all pairs of samples, so a few outliers do not move it. See Sen
(1968), Journal of the American Statistical Association 63. The first 20 minutes of a process and the first
third of its life do not count: caches and windows fill. Samples in windows of faults do not count either.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WARM_S = 20 * 60.0
SKIPPED_SHARE = 1 / 3
JUDGED_S = 15 * 60.0  # at least so much time is needed for a verdict
MOST_POINTS = 300
MIB_PER_HOUR = 5.0
FILES_PER_HOUR = 0.5  # less is none: the number is whole, and the slope a median
FLAT, GROWS, TOO_SHORT = "flat", "grows", "too short"


class Sample(NamedTuple):
    """One process at one instant; CPU in seconds since its start."""

    at: float
    rss_mib: float
    files: int
    threads: int
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Life:
    """The samples of one process in one role."""

    name: str  # replica, role and process id
    part: str  # service, standby, lag monitor or failover audit
    samples: tuple[Sample, ...]

    @property
    def lived_s(self) -> float:
        """Return the time from its first sample to its last."""
        return self.samples[-1].at - self.samples[0].at


@dataclass(frozen=True, slots=True)
class Flatness:
    """What became of a process; slopes per hour."""

    name: str
    part: str
    lived_minutes: float
    judged_minutes: float
    rss_first_mib: float
    rss_last_mib: float
    rss_most_mib: float
    rss_mib_per_hour: float
    files_first: int
    files_last: int
    files_most: int
    files_per_hour: float
    threads_last: int
    cpu_share: float
    verdict: str


def theil_sen(points: Sequence[tuple[float, float]]) -> float:
    """Return the median slope of all pairs of points; 0 if there are none."""
    thinned = points[:: max(1, -(-len(points) // MOST_POINTS))]
    slopes = [
        (y - other_y) / (x - other_x)
        for number, (x, y) in enumerate(thinned)
        for other_x, other_y in thinned[:number]
        if x != other_x
    ]
    return median(slopes) if slopes else 0.0


def flatness(life: Life, *, is_quiet: Callable[[float], bool]) -> Flatness:
    """Judge one process."""
    samples = life.samples
    first = samples[0].at
    usual = first + life.lived_s * SKIPPED_SHARE
    judged = [one for one in samples if one.at >= max(first + WARM_S, usual) and is_quiet(one.at)]
    span_s = judged[-1].at - judged[0].at if judged else 0.0
    enough = span_s >= JUDGED_S
    if not enough:  # shown, but not judged
        judged = [one for one in samples if one.at >= usual]
        span_s = judged[-1].at - judged[0].at
    rss = theil_sen([(one.at / 3600, one.rss_mib) for one in judged])
    files = theil_sen([(one.at / 3600, float(one.files)) for one in judged])
    flat = rss <= MIB_PER_HOUR and files < FILES_PER_HOUR
    cpu_s = samples[-1].cpu_s - samples[0].cpu_s
    return Flatness(
        name=life.name,
        part=life.part,
        lived_minutes=round(life.lived_s / 60, 1),
        judged_minutes=round(span_s / 60, 1),
        rss_first_mib=round(judged[0].rss_mib, 1),
        rss_last_mib=round(judged[-1].rss_mib, 1),
        rss_most_mib=round(max(one.rss_mib for one in samples), 1),
        rss_mib_per_hour=round(rss, 2),
        files_first=judged[0].files,
        files_last=judged[-1].files,
        files_most=max(one.files for one in samples),
        files_per_hour=round(files, 2),
        threads_last=samples[-1].threads,
        cpu_share=round(cpu_s / life.lived_s, 4) if life.lived_s else 0.0,
        verdict=TOO_SHORT if not enough else FLAT if flat else GROWS,
    )
