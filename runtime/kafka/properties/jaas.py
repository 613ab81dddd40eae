"""Read the value of `sasl.jaas.config` as the Java client reads it.

The grammar is the one of Kafka's own JaasConfig, which sits on java.io.StreamTokenizer:

    LoginModuleClass controlFlag (option=value)* ;

A value in single or double quotes may hold anything but a line break, with Java's escapes. A bare value is
made of letters, digits and `. - _ $`; a bare number is no value at all, and a slash starts a comment, which
is where most broken passwords come from. Sentences raised here never hold any part of the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS = frozenset({"REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL"})
_MAX_CHARS = 65_536


class JaasError(ValueError):
    """What is wrong with the text, as a sentence that shows none of it."""


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One login module with its options; the options hold the secret and stay out of repr."""

    name: str
    options: dict[str, str] = field(repr=False)

    @property
    def simple_name(self) -> str:
        """Return the class name without its package."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # word | quoted | number, or the character itself for anything else
    text: str = field(default="", repr=False)

    @property
    def is_text(self) -> bool:
        """Whether Java would give this token a string value."""
        return self.kind in {"word", "quoted"}


def login_module(text: str) -> LoginModule:
    """Return the one login module in `text`.

    Raises JaasError where the Java client would refuse the text, and where it would make an option called
    `null` out of a stray character.
    """
    if len(text) > _MAX_CHARS:
        raise JaasError(f"longer than {_MAX_CHARS} characters; check the value")
    tokens = _tokens(text)
    modules = []
    position = 0
    while position < len(tokens):
        module, position = _module(tokens, position)
        modules.append(module)
    if not modules:
        raise JaasError("missing login module")
    if len(modules) > 1:
        raise JaasError(
            f"must have one login module, not {len(modules)}; put a value with a semicolon in double quotes"
        )
    return modules[0]


def _module(tokens: list[_Token], position: int) -> tuple[LoginModule, int]:
    name = tokens[position]
    if not name.is_text:
        raise JaasError("must start with the class name of a login module")
    position += 1
    if position == len(tokens):
        raise JaasError("missing control flag after the login module; write `required` there")
    flag = tokens[position]
    if not flag.is_text or flag.text.upper() not in _FLAGS:
        raise JaasError("invalid control flag; write `required` after the login module")
    position += 1
    options: dict[str, str] = {}
    while position < len(tokens) and tokens[position].kind != ";":
        option = tokens[position].text if tokens[position].is_text else ""
        if not option:
            raise JaasError(
                "invalid character between the options; put every value in double quotes, for example "
                'password="..."'
            )
        if (
            position + 2 >= len(tokens)
            or tokens[position + 1].kind != "="
            or not tokens[position + 2].is_text
        ):
            raise JaasError(
                f'invalid value of option number {len(options) + 1}; write option="value" in double quotes'
                " (a bare number is not a value)"
            )
        options[option] = tokens[position + 2].text
        position += 3
    if position == len(tokens):
        raise JaasError(
            "does not end with a semicolon (a slash outside quotes starts a comment and may hide it; put "
            "values in double quotes)"
        )
    return LoginModule(name=name.text, options=options), position + 1


def _tokens(text: str) -> list[_Token]:
    tokens = []
    position = 0
    while position < len(text):
        char = text[position]
        if char <= " ":
            position += 1
        elif char == "/":
            position = _after_comment(text, position)
        elif char in "\"'":
            token, position = _quoted(text, position)
            tokens.append(token)
        elif char in "0123456789.-":
            token, position = _number(text, position)
            tokens.append(token)
        elif _is_word(char):
            end = position + 1
            while end < len(text) and (_is_word(text[end]) or text[end] in "0123456789."):
                end += 1
            tokens.append(_Token("word", text[position:end]))
            position = end
        else:
            tokens.append(_Token(char))
            position += 1
    return tokens


def _is_word(char: str) -> bool:
    # Below 256 only ASCII letters, 0xA0 to 0xFF and the three that Kafka adds are word characters.
    return ("a" <= char <= "z") or ("A" <= char <= "Z") or char in "-_$" or char >= "\xa0"


def _after_comment(text: str, position: int) -> int:
    # A lone slash is a comment as well: StreamTokenizer's default, which Kafka leaves as it is.
    if text.startswith("/*", position):
        end = text.find("*/", position + 2)
        return len(text) if end < 0 else end + 2
    # The character after the slash is read ahead, and ends the comment not even where it is a line break.
    ends = [end for end in (text.find("\n", position + 2), text.find("\r", position + 2)) if end >= 0]
    return min(ends, default=len(text))


def _number(text: str, position: int) -> tuple[_Token, int]:
    end = position
    seen_dot = False
    if text[end] == "-":
        end += 1
    start = end
    while end < len(text) and (
        text[end].isascii() and (text[end].isdigit() or (text[end] == "." and not seen_dot))
    ):
        seen_dot = seen_dot or text[end] == "."
        end += 1
    if not any(char.isdigit() for char in text[start:end]):
        # A dash or a dot without digits: Java gives the first such character back as itself.
        return _Token(text[position]), position + 1
    return _Token("number"), end


def _quoted(text: str, position: int) -> tuple[_Token, int]:
    quote = text[position]
    position += 1
    out = []
    while position < len(text) and text[position] != quote:
        char = text[position]
        if char in "\r\n":
            break
        if char == "\\":
            char, position = _escaped(text, position + 1)
        else:
            position += 1
        out.append(char)
    if position >= len(text):
        raise JaasError("unclosed quote; close it")
    # A line break closes a quote as well; it is white space, so stepping over it changes nothing.
    return _Token("quoted", "".join(out)), position + 1


def _escaped(text: str, position: int) -> tuple[str, int]:
    if position >= len(text):
        raise JaasError("incomplete escape at the end; complete or remove it")
    char = text[position]
    if "0" <= char <= "7":
        # One to three octal digits, three only up to \377.
        longest = 3 if char <= "3" else 2
        end = position + 1
        while end < len(text) and end - position < longest and "0" <= text[end] <= "7":
            end += 1
        return chr(int(text[position:end], 8)), end
    return _ESCAPES.get(char, char), position + 1
