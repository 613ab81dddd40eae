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
    "| drill | fault | expected | reported | cause | seconds | alerts (s) | came back (s) |"
    " counters besides good | right |\n|---|---|---|---|---|---|---|---|---|---|"
)


_OFFSETS_HEAD = _HEAD.replace("counters besides good", "lost: stated, true")

_ACCEPTED = """\
Some faults have several right causes, or one 'on the way'. Each is true while it is reported:

- A quota holds back all tasks of the mirror, or one. For seconds nothing arrives (`stalled`,
  `mirror_down` or `task_stuck`), then many records at once, so a verdict of `late` is not certain. From
  the second time on, and always for a single task, the reason says that a quota may be the cause:
  Mirrorwatch does not read the quotas of the mirror's clients yet.
- Behind a link with a round trip of 8 s nothing arrives for longer than the threshold. Until the first
  late record arrives, the mirror looks like a hanging one.
- A mirror that restarts hangs meanwhile, also after new settings or a kill. A broker that restarts is
  down meanwhile.
- A source topic that was deleted and created again is reported as re-created until its first probes
  arrive.
- If the target's topic refuses a record, the mirror's tasks fail, so the mirror hangs. The topic's
  settings are known as the cause after the next poll, within 7.5 s. If the mirror drops such records and
  continues, nothing else is reported before that."""


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

Another process injects each fault below into two real {kafka} brokers and a dedicated MirrorMaker 2 with
two tasks. MirrorMaker has an offset flush of 1 s and a refresh of topics of 2 s, unless the fault is
about them. Traffic is 390 records/s. The canary sends one probe per second and partition. Its threshold
is 5 s and its horizon 60 s; the horizon is 10 s in:
{named(_quick)}.

The service runs with `lag: {{commits: off}}`, so these are findings of the canary alone. The test polls
the verdict ten times a second.
Made by `make drills` on {made}.

- 'Seconds' is the time from the order to inject the fault to the expected verdict and cause. It includes
  the time of the fault itself.
- 'Came back' is the time from the order to end the fault to the verdict healthy, or to the one in
  brackets. Lost, altered and repeated records keep their verdict for 15 minutes.

{table(results)}

A row is right only if the service reported the expected verdict before the order to end the fault, and
nothing else:

- `overtake` counts after that order, because the loss shows only when the mirror runs again.
- No other alarm, and never a fault of the prober.
- Until the order to end the fault: no cause but the expected one, `unexplained`, and those 'on the way'.
- If no alarm is expected: no probe counted as `lost` or `confirmed`.

A Prometheus with the rendered rules scrapes the service during each drill, and an Alertmanager with the
rendered routes gets its alerts. 'Alerts' are the fired ones without their prefix `Mirrorwatch`. Those in
bold paged; the others open tickets or were muted. For an expected fault all times of the rules are
divided by {DIVISOR:g}, so that an alert fires within the drill; limits and thresholds stay. A row is
right only if the expected alert fired and nothing else paged. If no alarm is expected, the rules have
their normal times, and no alert that pages may fire, muted or not.

Limits of the canary alone:

- A restart or an outage is `stalled` only while nothing arrives.
- A failed or paused connector looks like a hanging mirror; the canary does not read the states of
  connectors.
- A target that sets its own timestamps changes no byte that the canary compares; the checksum finds it.
- Records that were routed to another topic are missing for the canary.
- A re-created source topic under a stopped mirror restarts the warm-up of the flow. Probes that the
  mirror then skips count as warm-up; the inventory finds these losses.

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
