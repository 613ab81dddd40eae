"""Do one thing with each flow that is chosen, and tell what came of all of them.

Where one of several flows cannot be worked on, the others are. What was found is in the store before it is
printed; where the store does not take it, it is printed all the same, and the last line says so.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from checksum.plan_building import refuse_beyond
from checksum.result_document import VERSION
from fleet.errors import ConfigurationError, MirrorwatchError
from mirrorwatch.checksum_desk import FINDING, UNAVAILABLE, check_writable, worst, write_json
from mirrorwatch.checksum_plan import plans_of, tell_failure
from mirrorwatch.checksum_state import state_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mirrorwatch.checksum_desk import Chosen, Desk
    from mirrorwatch.checksum_plan import Planned
    from mirrorwatch.checksum_state import State

    # What was found, and why the store did not take it, None where it did.
    Work = Callable[[Planned, State], tuple[dict[str, Any], Exception | None]]


def every_flow(
    desk: Desk,
    chosen: Chosen,
    work: Work,
    *,
    conclude: Callable[[Desk, int], None],
    json_file: Path | None,
    counts_only: bool = False,
) -> int:
    """Plan each flow and work on it; return the exit status. `conclude` writes the last words."""
    check_writable(json_file)
    with state_for(desk) as state:
        if state.why_none:
            desk.sheet.say(f"{state.why_none}: nothing is kept, and each run compares all anew.", indent=0)
        begin = partial(state.begin, counts_only=counts_only)
        planned = asyncio.run(plans_of(desk, chosen, begin=begin))
        for one in planned:
            if one.plan is not None:
                refuse_beyond(one.plan, max_bytes=desk.settings.max_bytes)
        told = [_told(desk, one, partial(work, one, state), alone=len(planned) == 1) for one in planned]
        status = worst(document["status"] for document in told)
        conclude(desk, status)
        for document in told:
            if "not_kept" in document:
                end = "What was found stands above, and the next run finds it once more."
                desk.sheet.say(f"{document['flow']}: {document['not_kept']}. {end}")
    return write_json(desk, json_file, {"version": VERSION, "status": status, "runs": told}, status)


def _told(
    desk: Desk, one: Planned, work: Callable[[], tuple[dict[str, Any], Exception | None]], *, alone: bool
) -> dict[str, Any]:
    """Work on one flow; return what was found, with the exit status that follows.

    Where a flow that is not alone cannot be worked on, that is what is told of it.
    """
    try:
        document, failure = work()
    except ConfigurationError:
        raise
    except MirrorwatchError as error:
        if alone:
            raise
        if one.run is not None:
            one.run.give_up()
        return tell_failure(desk, one.flow, error)
    if failure is None:
        return document
    status = FINDING if document["status"] == FINDING else UNAVAILABLE
    return document | {"status": status, "not_kept": desk.sheet.clean(str(failure))}
