"""The texts that people read in plain words: known words, short sentences, short pages."""

from __future__ import annotations

import re

import pytest

from tests.house.plain_words import found_in
from tests.house.product_files import ROOT, relative

GENERATED = {
    f"docs/reference/{name}.md"
    for name in ("alerts", "api", "causes", "client-properties", "configuration-keys", "drills")
}
PAGES = [
    path
    for path in sorted(
        [
            *(
                ROOT / name
                for name in ("README.md", "CONTRIBUTING.md", "bench/README.md", "deploy/README.md")
            ),
            *(ROOT / "docs").rglob("*.md"),
            *(ROOT / "alerts" / "runbooks").glob("*.md"),
        ]
    )
    if relative(path) not in GENERATED
]
MOST_WORDS = 25
MOST_WORDS_OF_A_TITLE = 6
LONG_PAGE, LONGEST_PAGE = 150, 300
# In addition to the phrases that no text may have: what pages used to say.
MORE_WORDS = {
    r"(?:its|no|look) looks?|more looks?": "poll, check",
    r"(?:a|the|its|their|whose|each|every|of|no|second|two) cop(?:y|ies)": "replicated record, target topic",
    r"what lies": "the records that",
    r"carry(?:ing)?": "replicate; is assigned to",
    r"besides": "also, along with",
    r"beg[iu]ns?|began|beginning": "start",
    r"going on|gone on": "continue",
    r"(?<!there )is no(?! longer| more)\b|wants?": "is not a; requires",
    r"sights?|glances?|calm|doubts?": "view, snapshot, summary, healthy",
    r"wherever|whoever|thereof|whereby|hence": "if; who",
}
FRONTED = re.compile(r"^(?:Of|Where|Whoever|What (?:is|was|are|were|comes?|came)) (?!.*\?)")
MORE = [
    (re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), instead) for pattern, instead in MORE_WORDS.items()
]
FENCE = re.compile(r"^([ \t]*)(?:```.*?^\1```|<!--.*?-->)", re.MULTILINE | re.DOTALL)
CODE, IMAGE, LINK = (
    re.compile(r"`+[^`]+`+"),
    re.compile(r"!\[[^]]*\]\([^)]*\)"),
    re.compile(r"\[([^]]*)\]\([^)]*\)"),
)
LIST_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) +")
RULE_OF_TABLE = re.compile(r"^\s*\|[-| :]+\|$")
# A full stop within a name, a number or an abbreviation ends no sentence.
END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9`\[(\"*x])")


def sentences(text: str) -> list[tuple[int, str]]:
    """Return each sentence with its line; an item of a list ends one, and so does a cell of a table."""
    text = FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    text = LINK.sub(r"\1", IMAGE.sub("", CODE.sub("x", text)))
    blocks: list[tuple[int, str]] = []
    joined = False
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip().lstrip(">").strip()
        if not bare or RULE_OF_TABLE.match(line):
            joined = False
        elif bare.startswith("|"):
            cells = [part for cell in bare.strip("|").split("|") for part in cell.split(";")]
            blocks += [(number, cell.strip()) for cell in cells]
            joined = False
        elif bare.startswith("#"):
            blocks.append((number, bare.lstrip("# ")))
            joined = False
        elif joined and not LIST_ITEM.match(line):
            start, block = blocks[-1]
            blocks[-1] = start, f"{block} {bare}"
        else:
            blocks.append((number, LIST_ITEM.sub("", line).strip().lstrip("> ")))
            joined = True
    return [(number, one.replace("**", "")) for number, block in blocks for one in END.split(block) if one]


def findings(text: str) -> list[str]:
    """Return what is not plain, with its line."""
    found = []
    for number, sentence in sentences(text):
        words = re.findall(r"[\w'.,:/>-]*\w[\w'.,:/>-]*", sentence)
        if len(words) > MOST_WORDS:
            found.append(f"{number}: {len(words)} words: {sentence[:60]}...")
        if FRONTED.match(sentence) and (sentence.endswith(".") or len(words) > MOST_WORDS_OF_A_TITLE):
            found.append(f"{number}: put the condition last, or write 'if': {sentence[:60]}")
        found += [f"{number}: write not {phrase}" for phrase in found_in(sentence)]
        found += [
            f"{number}: write not '{match[0]}', but: {instead}"
            for pattern, instead in MORE
            for match in pattern.finditer(sentence)
        ]
    lines = text.count("\n")
    if lines > LONGEST_PAGE:
        found.append(f"{lines} lines: split the page")
    if lines > LONG_PAGE and "\nOn this page:\n" not in text:
        found.append(f"{lines} lines: add a table of contents, 'On this page:'")
    return found


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_a_page_is_in_plain_words(path):
    assert findings(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("The page tells the cause.", "'tells'"),
        ("The log\nstands at 5.", "'stands'"),
        ("- The topic was made anew.", "'anew'"),
        ("| a | what nobody reads |", "'nobody'"),
        ("It needs the right Read.", "'the right'"),
        ("At each look it asks.", "'each look'"),
        ("It is no proof.", "'is no'"),
        ("Of a group nothing is known.", "put the condition last"),
        ("Where it is down, wait.", "put the condition last"),
        ("One " + "word " * 25 + "more.", "27 words"),
        ("One " + "word " * 12 + "\n" + "word " * 13, "26 words"),
        ("a\n\n" * 76, "add a table of contents"),
        ("\nOn this page:\n" + "a\n\n" * 150, "split the page"),
    ],
)
def test_what_is_not_plain_is_seen(text, what):
    (found,) = findings(text)
    assert what in found


@pytest.mark.parametrize(
    "text",
    [
        "`tell` is a name, and so is `--tell`.",
        "```\nWe tell it anew.\n```",
        "There is no canary. It no longer runs.",
        "What a run does",
        "One " + "word " * 15 + "here. One " + "word " * 15 + "there.",
        "- One " + "word " * 15 + "\n- One " + "word " * 15,
        "| one " + "word " * 15 + "| one " + "word " * 15 + "|",
    ],
)
def test_what_is_plain_passes(text):
    assert findings(text) == []


def test_the_files_that_contributing_names_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(
        re.findall(
            r"`((?:alerts|canary|checksum|deploy|docs|fleet|lagmon|mirrorwatch|runtime|tests)/[\w/.-]*)`",
            text,
        )
    )
    assert len(named) > 20
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
