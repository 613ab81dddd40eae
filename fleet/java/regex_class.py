r"""Character classes and escapes of Java's regular expressions, as sets of code points.

Source: the documentation of java.util.regex.Pattern (Java 17): inside a class, `[` starts a union, `&&` an
intersection that takes all that follows, and a leading `^` negates the whole, nested classes included.
"""

from __future__ import annotations

import re

from fleet.java.codepoints import CodePoints

BREAKS = CodePoints.chars("\n\r\x85\u2028\u2029")
_DIGIT = CodePoints.of((0x30, 0x39))
_LOWER, _UPPER = CodePoints.of((0x61, 0x7A)), CodePoints.of((0x41, 0x5A))
_ALNUM = _DIGIT | _LOWER | _UPPER
_WORD = _ALNUM | CodePoints.chars("_")
_SPACE = CodePoints.chars(" \t\n\x0b\f\r")
_BLANKS = CodePoints.chars(" \t\xa0\u1680\u180e\u202f\u205f\u3000") | CodePoints.of((0x2000, 0x200A))
_VERTICAL = CodePoints.chars("\n\x0b\f\r\x85\u2028\u2029")
SHORTHANDS = {
    "d": _DIGIT, "D": ~_DIGIT, "w": _WORD, "W": ~_WORD, "s": _SPACE, "S": ~_SPACE,
    "h": _BLANKS, "H": ~_BLANKS, "v": _VERTICAL, "V": ~_VERTICAL,
}  # fmt: skip
_PUNCT = CodePoints.of((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E))
_POSIX = {
    "Lower": _LOWER, "Upper": _UPPER, "ASCII": CodePoints.of((0, 0x7F)), "Alpha": _LOWER | _UPPER,
    "Digit": _DIGIT, "Alnum": _ALNUM, "Punct": _PUNCT, "Graph": _ALNUM | _PUNCT,
    "Print": _ALNUM | _PUNCT | CodePoints.chars(" "), "Blank": CodePoints.chars(" \t"),
    "Cntrl": CodePoints.of((0, 0x1F), (0x7F, 0x7F)), "Space": _SPACE,
    "XDigit": CodePoints.of((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}  # fmt: skip
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\x07", "e": "\x1b"}
_DEEPEST = 50


def escape_at(pattern: str, at: int) -> tuple[CodePoints, int]:
    """Return the characters of the escape at `at`, and the position after it.

    Raises ValueError with a sentence for an escape that is unknown to Java or cannot be translated.
    """
    letter = pattern[at + 1 : at + 2]
    if letter in SHORTHANDS and letter:
        return SHORTHANDS[letter], at + 2
    if letter in _CONTROL and letter:
        return CodePoints.chars(_CONTROL[letter]), at + 2
    if found := re.compile(r"\\([pP])\{(\w+)\}").match(pattern, at):
        if found[2] not in _POSIX:
            known = ", ".join(sorted(_POSIX))
            raise _refused(pattern, at, f"\\{found[1]}{{{found[2]}}} cannot be translated (known: {known})")
        members = _POSIX[found[2]]
        return (~members if found[1] == "P" else members), found.end()
    if found := re.compile(
        r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|x\{([0-9a-fA-F]{1,6})\}|0([0-3][0-7]{2}|[0-7]{1,2})|c(.))"
    ).match(pattern, at):
        return _point(pattern, at, found), found.end()
    if not letter or (letter.isascii() and letter.isalnum()):
        raise _refused(pattern, at, f"\\{letter} is unknown or cannot be translated")
    return CodePoints.chars(letter), at + 2


def _point(pattern: str, at: int, found: re.Match[str]) -> CodePoints:
    if found[5]:
        return CodePoints.of((ord(found[5]) ^ 64,) * 2)
    point = int(found[4], 8) if found[4] else int(found[1] or found[2] or found[3], 16)
    if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
        raise _refused(pattern, at, f"{found[0]} is not a character by itself")
    return CodePoints.of((point, point))


def read_class(pattern: str, at: int, *, ignore_case: bool, depth: int = 0) -> tuple[CodePoints, int]:
    """Return the members of the class that `[` at `at` opens, and where the text after it starts."""
    if depth > _DEEPEST:
        raise _refused(pattern, at, f"classes are nested more than {_DEEPEST} deep")
    opened, at = at, at + 1
    negated = pattern.startswith("^", at)
    at += negated
    operands: list[CodePoints] = [CodePoints(())]
    empty = True
    while at < len(pattern):
        if pattern[at] == "]" and not empty:
            members = operands[0]
            for operand in operands[1:]:
                members &= operand
            return (~members if negated else members), at + 1
        if pattern.startswith("&&", at):
            if empty or pattern.startswith("&&&", at) or pattern.startswith("&&]", at):
                raise _refused(pattern, at, "'&&' needs a class on both sides")
            operands.append(CodePoints(()))
            at += 2
            empty = True
            continue
        if pattern[at] == "[":
            found, at = read_class(pattern, at, ignore_case=ignore_case, depth=depth + 1)
        else:
            found, at = _member(pattern, at, ignore_case=ignore_case)
        operands[-1] |= found
        empty = False
    raise _refused(pattern, opened, "a class is not closed (a comma in it ends the expression in a list)")


def _member(pattern: str, at: int, *, ignore_case: bool) -> tuple[CodePoints, int]:
    """Read one character, one escape or one range of a class."""
    start = at
    if pattern.startswith(r"\Q", at):
        raise _refused(pattern, at, r"\Q inside a class cannot be translated")
    found, at = _single(pattern, at)
    vertical = pattern.startswith(r"\v", start)  # before a range Java takes it for one character
    after_set = _is_set(found) and not vertical  # a `-` after a set is a member of its own
    if after_set or not pattern.startswith("-", at) or pattern[at + 1 : at + 2] in ("]", "["):
        return _folded(found, ignore_case=ignore_case, shorthand=_is_set(found)), at
    if vertical or at + 1 >= len(pattern) or pattern.startswith("&&", at + 1):
        raise _refused(pattern, start, "a range starts or ends with something that is not a character")
    last, at = _single(pattern, at + 1)
    if _is_set(last) or last.ranges[0][0] < found.ranges[0][0]:
        raise _refused(
            pattern, start, "a range ends before it starts, or in something that is not a character"
        )
    members = CodePoints.of((found.ranges[0][0], last.ranges[0][0]))
    return _folded(members, ignore_case=ignore_case, shorthand=False), at


def _single(pattern: str, at: int) -> tuple[CodePoints, int]:
    if pattern[at] == "\\":
        return escape_at(pattern, at)
    return CodePoints.chars(pattern[at]), at + 1


def _is_set(found: CodePoints) -> bool:
    return len(found.ranges) != 1 or found.ranges[0][0] != found.ranges[0][1]


def _folded(found: CodePoints, *, ignore_case: bool, shorthand: bool) -> CodePoints:
    return found.ignoring_ascii_case() if ignore_case and not shorthand else found


def _refused(pattern: str, at: int, why: str) -> ValueError:
    return ValueError(
        f"'{pattern}' cannot be used as a Java regular expression: {why}, at character {at + 1}"
    )
