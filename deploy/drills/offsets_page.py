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

The same stack, and a service with `canary: {{mode: off}}`: what it says of a flow comes from the offsets that
the mirror's worker writes, from both logs and from the topics' ids. The mirror has MirrorMaker's own defaults
here: offset flush 60 s, refresh of topics and groups 600 s, checkpoints 60 s. Only {named(_soon)} have
a refresh of topics each 5 s, as they are about what it finds, and {named(_quick)} have the
quick settings of above. So a standstill shows after two flushes and two looks at the logs at the latest:
144 s after the mirror's last offsets, which it may write up to a flush after the fault was begun, when the
seconds start. That offsets are not written while records come shows after as long again.

{table}

Where no alarm is expected, a row is right only if nothing but `unknown` or a cause that stands as 'on the
way' was said, and no suspicion but the expected one. What was deleted unread of a mirror that stands is
`stalled` as `overtaken` at first and `losing` as well; a mirror that has passed it is `losing` once the
number is certain. While the target is away nothing tells where the mirror is, because it keeps its offsets
there: that is `unknown`. Records that are left out in the middle of a topic are listed as a suspicion, which
leaves the verdict alone.

After `offsets-kill-target` Connect may give the mirror's tasks to nobody for five minutes
(`scheduled.rebalance.max.delay.ms`): the target is back, and the mirror stands, which is `stalled`,
`mirror_down`, 144 s after its last offsets. So it has a mirror of its own. A mirror that is paused still
writes the offsets of what it had copied, up to a minute later: it stands from then on
(`offsets-pause-mirror`). Of `offsets-exclude-topic` the settings of the mirror change and not those that the
service was given: that no task carries the topic any more tells why it stands.
"""


def _soon(one: Drill) -> bool:
    return one.by_offsets and SOON.items() <= one.settings.items()


def _quick(one: Drill) -> bool:
    return one.by_offsets and not (_soon(one) or DEFAULTS.items() <= one.settings.items())
