"""The part of docs/reference/drills.md on what is told without a canary, by offsets alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deploy.drills.catalogue import named
from deploy.drills.catalogue_offsets import DEFAULTS, SOON

if TYPE_CHECKING:
    from deploy.drills.drill import Drill


def section(table: str) -> str:
    """Return the whole part with the table of its drills."""
    return f"""\
## Without a canary, by offsets alone

The same stack, with `canary: {{mode: off}}`: the service judges a flow by the committed offsets of the
mirror's worker, both logs, and topic ids. The mirror has MirrorMaker's defaults here: offset flush 60 s,
refresh of topics and groups 600 s, checkpoints 60 s. There are two exceptions:

- {named(_soon)} have a refresh of topics of 5 s, because they test it.
- {named(_quick)} have the quick settings above.

A stall shows after two flushes and two polls of the logs at the latest: 144 s after the last committed
offsets. The mirror may commit up to one flush after the start of the fault, when 'Seconds' starts.
Missing commits while records arrive show after the same time again.

{table}

If no alarm is expected, a row is right only if nothing but `unknown` or a cause 'on the way' was
reported, and no suspicion but the expected one.

- Records deleted before a hanging mirror read them are first `stalled` with `overtaken`, and `losing` as
  well. A mirror that has passed them is `losing` once the number is certain.
- While the target is down the mirror's position is unknown, because the mirror stores its offsets there:
  `unknown`.
- Records that are missing in the middle of a topic are a suspicion, which does not change the verdict.
- After `offsets-kill-target`, Connect may leave the mirror's tasks unassigned for five minutes
  (`scheduled.rebalance.max.delay.ms`): the target is back but the mirror hangs, which is `stalled` with
  `mirror_down` 144 s after its last offsets. So this drill has its own mirror.
- A paused mirror still commits offsets of replicated records, up to a minute later, and hangs from then
  on (`offsets-pause-mirror`).
- In `offsets-exclude-topic` the settings of the mirror change, but not those of the service: the missing
  task assignment of the topic shows the cause.
"""


def _soon(one: Drill) -> bool:
    return one.by_offsets and SOON.items() <= one.settings.items()


def _quick(one: Drill) -> bool:
    return one.by_offsets and not (_soon(one) or DEFAULTS.items() <= one.settings.items())
