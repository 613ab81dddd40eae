r"""Java regular expressions as Python's, or a sentence about what cannot be translated.

MirrorMaker's filters are java.util.regex patterns. Translated exactly: literals, `.`, classes with ranges,
unions `[a[b]]`, intersections `&&` and negation, \d \w \s \h and their complements, the ASCII classes
\p{Alpha} and so on, \Q..\E, quantifiers with their lazy and possessive forms, atomic and named groups,
look-around of fixed width, \b \A \z \Z ^ $, back-references to one-digit groups, and the flags i, s and m
(Java folds ASCII letters only, and a flag in the middle holds to the end of its group). A word of \b is one
of ASCII letters, as in Java from 19 on; before, letters of other scripts counted, which no topic's name has.
Refused: \p with Unicode categories, scripts or blocks, \X \N \G \R, the flags x, u, U and d, look-behind of
variable width, and whatever Java refuses too. The output uses no flag: every character is written as itself
or as a class. Source: the documentation of java.util.regex.Pattern; tests/fleet/golden has the real answers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from fleet.java.codepoints import CodePoints
from fleet.java.regex_class import BREAKS, SHORTHANDS, escape_at, read_class

LONGEST_CHARS = 20_000
LONGEST_LIST_CHARS = 1_000_000
_DEEPEST = 50
_LOOK = {"=": "(?=", "!": "(?!", "<=": "(?<=", "<!": "(?<!", ">": "(?>", ":": "(?:"}
_ANCHORS = {
    "A": r"\A",
    "z": r"\Z",
    "b": r"(?a:\b)",
    "B": r"(?a:\B)",
    "Z": r"(?=(?:\r\n|[\n\r\x85\u2028\u2029])?\Z)",
}


@dataclass(frozen=True, slots=True)
class _Flags:
    ignore_case: bool = False
    dot_all: bool = False
    multi_line: bool = False


@lru_cache(maxsize=512)  # the flows of one configuration share most patterns
def compile_java(*entries: str) -> re.Pattern[str]:
    """Return the pattern in Python's form, of several the alternatives; use fullmatch, as MirrorMaker does.

    Raises ValueError with a sentence if Java would refuse it or it cannot be translated.
    """
    if any(len(entry) > LONGEST_CHARS for entry in entries):
        raise ValueError(f"the regular expression is longer than {LONGEST_CHARS} characters")
    pattern = "|".join(entries)
    if len(pattern) > LONGEST_LIST_CHARS:
        raise ValueError(f"the list of regular expressions is longer than {LONGEST_LIST_CHARS} characters")
    reader = _Reader(pattern)
    translated = reader.alternatives(_Flags(), depth=0)
    if reader.at < len(pattern):
        raise ValueError(f"'{pattern}' closes a group at character {reader.at + 1} that was never opened")
    try:
        return re.compile(translated)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(
            f"'{pattern}' cannot be translated from a Java regular expression: {error}"
        ) from error


class _Reader:
    """Reads a pattern once from left to right; `at` is the next character."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.groups = 0

    def alternatives(self, flags: _Flags, *, depth: int) -> str:
        """Translate up to the end of the pattern or of the group."""
        if depth > _DEEPEST:
            raise self.refused(f"groups are nested more than {_DEEPEST} deep")
        pieces: list[str] = []
        while self.at < len(self.pattern) and self.pattern[self.at] != ")":
            if self.taken("|"):
                pieces.append("|")
            elif found := re.compile(r"\(\?([imsxudU]*)(?:-([imsxudU]*))?\)").match(self.pattern, self.at):
                # A flag set here holds for the rest of this group, its further alternatives included.
                flags = self.with_flags(flags, found[1], found[2] or "")
                self.at = found.end()
            else:
                pieces.append(self.quantified(flags, depth=depth))
        return "".join(pieces)

    def quantified(self, flags: _Flags, *, depth: int) -> str:
        start = self.at
        char = self.pattern[start]
        if char in "*+?":
            raise self.refused(f"nothing precedes '{char}'", start)
        if char == "{":
            raise self.refused("nothing precedes '{'", start)
        quoted = self.quotation(flags)
        if quoted is not None:
            *leading, last = quoted or [""]
            return "".join(leading) + self.repeated(last)
        atom = self.atom(char, flags, depth=depth)
        return self.repeated(atom)

    def repeated(self, atom: str) -> str:
        found = re.compile(r"(?:[*+?]|\{\d+(?:,\d*)?\})[?+]?").match(self.pattern, self.at)
        if found is None:
            if self.at < len(self.pattern) and self.pattern[self.at] == "{":
                raise self.refused("'{' does not start a count (a comma in it ends the expression in a list)")
            return atom
        if not atom or atom[0] in "^$" or atom in _ANCHORS.values():
            raise self.refused(f"'{found[0]}' repeats something without width", found.start())
        self.at = found.end()
        return f"(?:{atom}){found[0]}"

    def quotation(self, flags: _Flags) -> list[str] | None:
        r"""Read \Q..\E: each character by itself, since a quantifier after it holds for the last one only."""
        if not self.taken(r"\Q"):
            return None
        end = self.pattern.find(r"\E", self.at)
        text = self.pattern[self.at :] if end < 0 else self.pattern[self.at : end]
        self.at = len(self.pattern) if end < 0 else end + 2
        return [_literal(char, flags) for char in text]

    def atom(self, char: str, flags: _Flags, *, depth: int) -> str:
        match char:
            case "(":
                return self.group(flags, depth=depth)
            case "[":
                members, self.at = read_class(self.pattern, self.at, ignore_case=flags.ignore_case)
                return members.as_regex()
            case "\\":
                return self.escape(flags)
        self.at += 1
        return _special(char, flags) or _literal(char, flags)

    def group(self, flags: _Flags, *, depth: int) -> str:
        found = re.compile(
            r"\((?:\?(?:(?P<look><=|<!|[=!>:])|<(?P<name>[A-Za-z][A-Za-z0-9]*)>|(?P<on>[imsxudU]*)(?:-(?P<off>[imsxudU]*))?:))?"
        ).match(self.pattern, self.at)
        assert found is not None  # the caller saw the parenthesis
        begun, self.at = self.at, found.end()
        if self.pattern[begun : begun + 2] == "(?" and found.end() == begun + 1:
            raise self.refused(f"'{self.pattern[begun : begun + 4]}' does not start a known group", begun)
        if found["look"]:
            opening = _LOOK[found["look"]]
        elif found["on"] is not None:
            opening, flags = "(?:", self.with_flags(flags, found["on"], found["off"] or "")
        else:
            self.groups += 1
            opening = f"(?P<{found['name']}>" if found["name"] else "("
        inner = self.alternatives(flags, depth=depth + 1)
        if not self.taken(")"):
            raise self.refused("a group is not closed (a comma in it ends the expression in a list)", begun)
        return f"{opening}{inner})"

    def escape(self, flags: _Flags) -> str:
        start = self.at
        letter = self.pattern[start + 1 : start + 2]
        if letter and letter in _ANCHORS and not self.pattern.startswith(r"\b{", start):
            self.at += 2
            return _ANCHORS[letter]
        if letter and letter in "123456789k":
            return self.back_reference(flags)
        members, self.at = escape_at(self.pattern, start)
        folds = flags.ignore_case and letter not in SHORTHANDS
        return (members.ignoring_ascii_case() if folds else members).as_regex()

    def back_reference(self, flags: _Flags) -> str:
        start = self.at
        found = re.compile(r"\\(?:([1-9])(?![0-9])|k<([A-Za-z][A-Za-z0-9]*)>)").match(self.pattern, start)
        if found is None or flags.ignore_case or (found[1] and int(found[1]) > self.groups):
            raise self.refused("the back-reference cannot be translated", start)
        self.at = found.end()
        return f"(?:\\{found[1]})" if found[1] else f"(?P={found[2]})"

    def with_flags(self, flags: _Flags, on: str, off: str) -> _Flags:
        if other := set(on + off) - set("ims"):
            raise self.refused(f"the flag '{min(other)}' cannot be translated")
        for letters, value in ((on, True), (off, False)):
            flags = replace(
                flags,
                ignore_case=value if "i" in letters else flags.ignore_case,
                dot_all=value if "s" in letters else flags.dot_all,
                multi_line=value if "m" in letters else flags.multi_line,
            )
        return flags

    def taken(self, text: str) -> bool:
        if not self.pattern.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def refused(self, why: str, at: int | None = None) -> ValueError:
        place = (self.at if at is None else at) + 1
        return ValueError(
            f"'{self.pattern}' cannot be used as a Java regular expression: {why}, at character {place}"
        )


def _special(char: str, flags: _Flags) -> str | None:
    match char:
        case ".":
            return r"[\x00-\U0010ffff]" if flags.dot_all else (~BREAKS).as_regex()
        case "^":
            return r"(?!\Z)(?:^|(?<=[\n\r\x85\u2028\u2029])(?<!\r(?=\n)))" if flags.multi_line else "^"
        case "$":
            return r"(?=\r?\n|[\r\x85\u2028\u2029]|\Z)" if flags.multi_line else _ANCHORS["Z"]
    return None


def _literal(char: str, flags: _Flags) -> str:
    found = CodePoints.chars(char)
    return (found.ignoring_ascii_case() if flags.ignore_case else found).as_regex()
