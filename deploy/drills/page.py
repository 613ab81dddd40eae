"""The page docs/reference/drills.md, out of the results of drills."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deploy.drills import checksum_page, checksum_runs, offsets_page
from deploy.drills.catalogue import DRILLS, named
from deploy.drills.catalogue_checksum import AUDITS
from deploy.drills.truth import total
from deploy.local.faults import BY_NAME
from deploy.local.jars import kafka_version
from deploy.local.monitoring import DIVISOR
from fleet.quantity import between_text
from fleet.verdicts.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deploy.drills.drill import Drill
    from deploy.drills.result import Result

_USUAL = {"expected", "settled", "good", "concluded", "delivered", "in_flight"}
_HEAD = (
    "| drill | fault | expected | said | cause | seconds | alerts (s) | came back (s) | books beside good"
    " | right |\n|---|---|---|---|---|---|---|---|---|---|"
)


_OFFSETS_HEAD = _HEAD.replace("books beside good", "lost: stated, true")

_ACCEPTED = """\
Where several causes are right, or one on the way, each is true while it is told:

- A quota holds the mirror's tasks back, all of them or one: for seconds nothing comes, which is `stalled` as
  `mirror_down` or `task_stuck`, and then all at once, so that no verdict of `late` need be between. From the
  second time on, and of one task always, the sentence says that it may be held back by a quota: quotas of the
  mirror's clients are not read yet.
- Behind a link that takes 8 s there and back nothing comes for longer than the threshold, and until the first
  late one has come nothing tells that mirror from one that stands.
- A mirror that is restarted, or gets other settings and restarts for them, stands meanwhile; so does one that
  was killed to be overtaken. A broker that is restarted is away meanwhile.
- A source topic that was deleted and is there again was made anew, which its flow is told until its first
  probes have come.
- Where the target's topic refuses a record, the mirror's tasks fail, so it stands; that its settings are why
  is known once they were read again, which takes up to 7.5 s. Where it drops such records and runs on,
  nothing else is told before."""


def table(results: Mapping[str, Result], *, by_offsets: bool = False) -> str:
    """Return the table of every drill of a kind that has a result, in the order of the list."""
    return "\n".join([_OFFSETS_HEAD if by_offsets else _HEAD, *_rows(results, by_offsets=by_offsets)])


def _rows(results: Mapping[str, Result], *, by_offsets: bool) -> Iterator[str]:
    for drill in DRILLS:
        result = results.get(drill.label)
        if result is not None and drill.by_offsets is by_offsets:
            yield _row(drill, result)


def _row(drill: Drill, result: Result) -> str:
    hit = result.hit(drill)
    if hit is None:  # the worst that was said, where silence was expected
        said = [one for one in result.said if one[1] != Verdict.HEALTHY]
        hit = min(said, key=lambda one: Verdict(one[1]).severity, default=None)
    told = (hit[1], hit[2] or "", f"{hit[0]:.1f}") if hit else ("silence", "", "")
    suspicion = result.suspicion(drill)
    if suspicion is not None:
        told = (told[0], f"suspected: {suspicion[1]}", f"{suspicion[0]:.1f}")
    healed = f"{result.healed_s:.1f}" if result.healed_s is not None else "not within 60"
    if drill.then != Verdict.HEALTHY:
        healed += f" ({drill.then})"
    books = _counts(result) if drill.by_offsets else _books(result)
    wrong = result.wrong(drill)
    cells = [
        f"`{drill.label}`",
        BY_NAME[drill.name].sentence,
        _expected(drill),
        *told,
        _alerts(result),
        healed,
        books,
        f"**no**: {wrong}" if wrong else "yes",
    ]
    return f"| {' | '.join(cells)} |"


def _books(result: Result) -> str:
    return ", ".join(
        f"{name} {count}" for name, count in result.books.items() if count and name not in _USUAL
    )


def _alerts(result: Result) -> str:
    """Return what fired, in order, with seconds; in bold what paged."""
    if not result.fired:
        return "" if result.fired is None else "none"
    pages = {name for _, name in result.paged}
    fired = ((f"**{name}**" if name in pages else name, at) for at, name, _ in result.fired)
    return ", ".join(f"{name} {at:.0f}" for name, at in fired)


def _counts(result: Result) -> str:
    """Return how many records were stated to be lost at the end, and how many were."""
    if not result.truth:
        return ""
    newest = {one.partition: one for one in result.stated}.values()
    bounds = [one.records_most for one in newest]
    most = None if None in bounds else sum(one for one in bounds if one is not None)
    stated = between_text(sum(one.records for one in newest), most) if newest else "none"
    return f"{stated}; {between_text(*total(result.truth))}"


def _expected(drill: Drill) -> str:
    expected = " ".join(filter(None, [drill.verdict or "no alarm", " or ".join(sorted(drill.causes))]))
    expected += f"; suspected {drill.suspected}" if drill.suspected is not None else ""
    expected += f"; event {drill.happened}" if drill.happened else ""
    others = " or ".join(sorted(drill.accepted - drill.causes))
    return f"{expected}; on the way {others}" if others else expected


def page(results: Mapping[str, Result]) -> str:
    """Return the whole page."""
    days = sorted({one.day for one in results.values()})
    kafka = f"Kafka {kafka_version()}"
    made = " to ".join([*days[:1], *days[1:][-1:]]) or "no day yet"
    return f"""# Drills

Each fault below was made to happen by another process on two real {kafka} brokers and a dedicated
MirrorMaker 2 with two tasks (offset flush 1 s, refresh of topics 2 s unless the fault is about it), with
traffic of 390 records a second and a canary of one probe a second and partition, a threshold of 5 s and a
horizon of 60 s (10 s in
{named(_quick)}).
The service runs with `lag: {{commits: off}}`: what stands here the canary finds by itself. It was asked ten
times a second what it makes of the flow. 'Seconds' count from the order to begin the fault to the first time
that the verdict and cause were told, so the time that the fault itself takes is among them. 'Came back'
counts from the order to mend it until the verdict was healthy, or the one in brackets: what was lost, changed
or repeated holds for a quarter of an hour. Made by `make drills` on {made}.

{table(results)}

A row is right only if what is expected was said before the order to mend the fault (of `overtake` after it,
since what is lost shows only when the mirror runs again), and if nothing else was said: at no time another
alarm or that the prober is at fault, until the order to mend no cause but the expected one, `unexplained` and
those that stand as 'on the way', and where no alarm is expected no probe called lost, be it as `lost` or as
`confirmed`.

A Prometheus with the rendered rules scrapes the service of each drill meanwhile, and an Alertmanager with the
rendered routes gets its alerts. 'Alerts' are those that fired, without their prefix `Mirrorwatch`; the
receiver of pages got those in bold, the others open tickets or were muted. Where a fault is expected to show,
all times of the rules are divided by {DIVISOR:g}, so that an alert fires within the drill; limits and
thresholds are not. A row is right only if the expected alert fired and nothing else paged. Where no alarm is
expected the rules are those of users, and nothing may fire that pages, muted or not.

What the verdict was on the way: a restart or an outage is `stalled` only while the silence lasts. To the
canary a failed or paused connector looks like a mirror that stands: which of them it is, the mirror's own
states tell, and a canary does not read those. A target that stamps its own time changes no byte that the
canary compares: that is for the audit. Records that were routed into another topic are missing to a canary
that reads its own. A source topic that is re-created under a stopped mirror ends the warm-up of the flow:
what the mirror then skips of the new topic was sent as warm-up, stands in the books as that, and is for the
inventory to tell.

{_ACCEPTED}

{offsets_page.section(table(results, by_offsets=True))}{_missing(results)}{_checksums(results)}"""


def _quick(one: Drill) -> bool:
    return bool(one.canary)


def _checksums(results: Mapping[str, Result]) -> str:
    found = results.get(checksum_runs.LABEL)
    audits = checksum_page.section(results) if any(one.label in results for one in AUDITS) else ""
    return audits + (checksum_runs.section(found) if found is not None else "")


def _missing(results: Mapping[str, Result]) -> str:
    listed = [*(one.label for one in DRILLS), *(one.label for one in AUDITS)]
    missing = [f"`{label}`" for label in listed if label not in results]
    return f"\nListed, and not run for this page: {', '.join(missing)}.\n" if missing else ""
