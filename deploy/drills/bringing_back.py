"""Bring a stack back to what it was after a drill that failed at any point, so that the others can go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deploy.drills.listening import DrillError, do_act
from deploy.local.pair import START_FOLDER
from deploy.local.stage import Stage

if TYPE_CHECKING:
    from deploy.drills.catalogue_checksum import Audit
    from deploy.drills.drill import Drill
    from deploy.local.pair import Pair


def bring_back(pair: Pair, drill: Drill | Audit, topic: str) -> None:
    """Undo whatever a drill may have left: processes, the topic's settings and quotas, the mirror's own.

    The fault's own end knows its topics and quotas; whether it succeeds does not matter, since all else is
    set right after it. Raises StackError or TimeoutError where the mirror does not come back.
    """
    _run_again(pair)
    _end(pair, drill, topic)
    for request in (pair.folder / START_FOLDER).glob("*"):
        request.unlink()
    for companion in pair.companions.values():
        companion.kill()
    _run_again(pair)
    stage = Stage(pair.folder)
    stage.switch.off()
    stage.configure_back()
    stage.proxy_order.unlink(missing_ok=True)
    if pair.mirror is not None:
        pair.mirror.restart()
        pair.write_stack_file()
        pair.mirror.wait_ready()


def _run_again(pair: Pair) -> None:
    for process in (*pair.brokers.values(), pair.mirror):
        if process is not None:
            process.thaw()
            if not process.running:
                process.start()
    pair.write_stack_file()


def _end(pair: Pair, drill: Drill | Audit, topic: str) -> None:
    try:
        do_act(pair, drill.name, topic, "end")
    except DrillError as error:
        print(f"    the end of {drill.label}: {error}", flush=True)
