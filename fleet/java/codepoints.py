"""Sets of characters as sorted ranges of code points: classes of regular expressions."""

from __future__ import annotations

from dataclasses import dataclass

LAST = 0x10FFFF


@dataclass(frozen=True, slots=True)
class CodePoints:
    """Code points as ranges (first, last), both included, sorted and apart from each other."""

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, *ranges: tuple[int, int]) -> CodePoints:
        """Return the set of these ranges, which may overlap, in any order."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted(ranges):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        return cls(tuple(merged))

    @classmethod
    def chars(cls, text: str) -> CodePoints:
        """Return the set of the characters of a text."""
        return cls.of(*((ord(char), ord(char)) for char in text))

    def __or__(self, other: CodePoints) -> CodePoints:
        return CodePoints.of(*self.ranges, *other.ranges)

    def __invert__(self) -> CodePoints:
        gaps, start = [], 0
        for first, last in self.ranges:
            if start < first:
                gaps.append((start, first - 1))
            start = last + 1
        if start <= LAST:
            gaps.append((start, LAST))
        return CodePoints(tuple(gaps))

    def __and__(self, other: CodePoints) -> CodePoints:
        return ~(~self | ~other)

    def ignoring_ascii_case(self) -> CodePoints:
        """Return the set with the other case of each ASCII letter in it."""
        folded = list(self.ranges)
        for low, high, shift in ((0x41, 0x5A, 32), (0x61, 0x7A, -32)):
            folded += [
                (max(first, low) + shift, min(last, high) + shift)
                for first, last in self.ranges
                if max(first, low) <= min(last, high)
            ]
        return CodePoints.of(*folded)

    def as_regex(self) -> str:
        """Return Python's regular expression that matches one character of the set."""
        if not self.ranges:
            return "(?!)"
        if len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1]:
            return _escaped(self.ranges[0][0])
        # Python compiles the few that are excluded 15 times faster than ranges up to the last character.
        excluded = (~self).ranges if self.ranges[-1][1] == LAST else ()
        members = "".join(_range(first, last) for first, last in excluded or self.ranges)
        return f"[^{members}]" if excluded else f"[{members}]"


def _range(first: int, last: int) -> str:
    return _escaped(first) if first == last else f"{_escaped(first)}-{_escaped(last)}"


def _escaped(point: int) -> str:
    char = chr(point)
    if point < 0x80 and (char.isalnum() or char == "_"):
        return char
    return f"\\x{point:02x}" if point < 0x100 else f"\\U{point:08x}"
