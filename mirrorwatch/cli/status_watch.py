"""`mirrorwatch status --watch`: refreshes the table until Ctrl-C.

On a terminal each table replaces the last one, cut to the terminal's height. Elsewhere tables follow one
another, each below a line with its time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mirrorwatch.cli.status import NoAnswerError, allow_question_marks, ask, say
from mirrorwatch.web.texts import iso_text

if TYPE_CHECKING:
    import asyncio

    from rich.console import Console

    from mirrorwatch.cli.status import Question
    from runtime.process.clock import WaitingClock

CLEAR, HOME, TO_LINE_END, TO_SCREEN_END = "\x1b[2J", "\x1b[H", "\x1b[K", "\x1b[J"


async def watch(
    question: Question,
    *,
    console: Console,
    errors: Console,
    interval_s: float,
    clock: WaitingClock,
    end: asyncio.Event,
) -> int:
    """Show the verdicts every `interval_s` until `end` is set; return the last exit status.

    With --json each document is one line. An invalid address ends it with status 2.
    """
    allow_question_marks(console)
    redraws = console.is_terminal and not console.is_dumb_terminal and not question.as_json
    first = True
    while True:
        at, sentence = iso_text(clock.wall_s()), ""
        with console.capture() as captured:
            try:
                status = await ask(question, console, indent=None)
            except NoAnswerError as error:
                status, sentence = error.exit_status, f"{error}"
        if status == 2:
            say(errors, f"{sentence}.")
            return status
        if redraws:
            said = f"{sentence}; trying again.\n" if sentence else captured.get()
            head = f"{at}, every {interval_s:g} s; Ctrl-C to stop"
            _redraw(console, f"{head}\n\n{said}", clear=first)
        elif sentence:
            say(errors, f"{at} {sentence}; trying again.")
        else:
            _write(console, captured.get() if question.as_json else f"{at}\n{captured.get()}\n")
        first = False
        if await clock.wait(end, timeout_s=interval_s):
            return status


def _redraw(console: Console, text: str, *, clear: bool) -> None:
    """Overwrite the screen line by line, without flicker."""
    lines = text.splitlines()
    room = max(console.height - 1, 1)
    if len(lines) > room:
        lines = [*lines[: room - 1], f"and {len(lines) - room + 1} more lines"]
    drawn = "".join(f"{line}{TO_LINE_END}\n" for line in lines)
    _write(console, f"{CLEAR if clear else ''}{HOME}{drawn}{TO_SCREEN_END}")


def _write(console: Console, text: str) -> None:
    console.file.write(text)
    console.file.flush()
