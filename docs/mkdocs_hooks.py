"""Hooks of MkDocs: add the Markdown files outside docs/ to the site, and rewrite the links between both.

On GitHub a link is relative to the file in the repository. The site has other paths for files outside docs/,
so each such link is rewritten. A link to a file that is neither a page nor in the repository stays as it is,
and the strict build reports it.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
RUNBOOKS = "alerts/runbooks"
RUNBOOK_LIST = "runbooks/index.md"
LINK = re.compile(r"(?<=\]\()(?P<path>[^)\s#:]+)(?=[)#])")
FENCE = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)
FENCE_IN_LIST = re.compile(r"^([ ]+)```\w*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def outside() -> dict[str, str]:
    """Return the page of the site for each file outside docs/, by its path in the repository."""
    found = {"README.md": "index.md", "LICENSE": "license.md"}
    found |= {f"{name}.md": f"{name.lower()}.md" for name in ("CONTRIBUTING", "CHANGELOG")}
    found |= {f"{folder}/README.md": f"{folder}.md" for folder in ("deploy", "bench")}
    found |= {f"{RUNBOOKS}/{path.name}": f"runbooks/{path.name}" for path in (ROOT / RUNBOOKS).glob("*.md")}
    return {source: page for source, page in found.items() if (ROOT / source).is_file()}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are outside docs/, and a list of the runbooks."""
    pages = outside()
    for source, page in sorted(pages.items()):
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    names = sorted(Path(page).stem for page in pages.values() if page.startswith("runbooks/"))
    lines = "\n".join(f"- [{name}]({name}.md)" for name in names)
    files.append(File.generated(config, RUNBOOK_LIST, content=f"# Runbooks\n\n{lines}\n"))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page with its links relative to the site."""
    del config, files
    pages = outside() | {RUNBOOKS: RUNBOOK_LIST}
    here = page.file.src_uri
    if here == RUNBOOK_LIST:
        return markdown
    source = next((path for path, uri in pages.items() if uri == here), f"docs/{here}")

    def moved(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found["path"]))
        uri = pages.get(target, target.removeprefix("docs/"))
        return posixpath.relpath(uri, posixpath.dirname(here) or ".")

    # Python-Markdown reads fences at the margin only; within a list an indented block is code.
    markdown = FENCE_IN_LIST.sub(lambda found: indent(found[2], "    "), markdown)
    parts = FENCE.split(markdown)
    return "".join(part if part.startswith("```") else LINK.sub(moved, part) for part in parts)
