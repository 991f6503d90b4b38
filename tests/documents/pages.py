"""What the tests of the documents share: the pages, their blocks of code, their commands, their links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(!?)\[[^\]]*\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, language: str) -> list[str]:
    """The page's blocks of code in a language, ``""`` for those that name none."""
    return [text for told, text in FENCED.findall(page.read_text(encoding="utf-8")) if told == language]


def shown_outputs(page: Path) -> dict[str, str]:
    """The output that the page shows below a block of Python, as a block ``text`` that follows it at once."""
    text = page.read_text(encoding="utf-8")
    return dict(re.findall(r"^```python\n([^`]*?)^```\n\n```text\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))


def prose(page: Path) -> str:
    """The page without its blocks of code."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def commands(page: Path) -> list[str]:
    """The commands of its ``sh`` blocks in order, each on one line, without comments and double spaces."""
    lines = (line for block in blocks(page, "sh") for line in block.replace("\\\n", " ").splitlines())
    bare = (" ".join(re.sub(r"\s+#\s.*", "", line).split()) for line in lines)
    return [line for line in bare if line and not line.startswith("#")]


def links(page: Path) -> Iterator[tuple[str, str]]:
    """Where it points to within the repository: a path, ``""`` for the page itself, and an anchor, ``""`` for none."""
    for _, target in LINK.findall(prose(page)):
        if not target.startswith(("http://", "https://")):
            path, _, anchor = target.partition("#")
            yield path, anchor


def anchors(page: Path) -> set[str]:
    """What its headings are called in links, as code hosts and the site make it."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
