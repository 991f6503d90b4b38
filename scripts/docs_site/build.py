"""The documentation as a site: ``python -m scripts.docs_site.build``, or ``make docs``.

The pages are the Markdown files of ``docs``, which also read well by themselves, and three from the top of the
repository. They are copied to ``build/docs`` first: a link out of ``docs`` is replaced by a link to a page that shows
the file. The build is strict: a broken link or anchor fails it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STAGE, SITE = ROOT / "build" / "docs", ROOT / "site"
TOP = {  # pages outside docs, and their names in the site
    **{name: name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")},
    "leaderboard/README.md": "LEADERBOARD.md",
}
SHOWN = {".py": "python", ".yaml": "yaml", ".toml": "toml", ".txt": "text"}  # files that a page can show
LINK = re.compile(r"(\]\()([^)#\s:]+)(#[^)\s]*)?(\))")


def main() -> int:
    """Stage the pages and build the site; returns the exit code of the builder."""
    stage()
    return subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict"], cwd=ROOT, check=False
    ).returncode


def stage() -> None:
    """Copy the pages to ``build/docs`` with rewritten links."""
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", STAGE)
    pages = {page: page.name for page in sorted((ROOT / "docs").glob("*.md"))}
    for page, name in (pages | {ROOT / path: name for path, name in TOP.items()}).items():
        text = page.read_text(encoding="utf-8")
        (STAGE / name).write_text(LINK.sub(partial(_staged_link, folder=page.parent), text), encoding="utf-8")


def _staged_link(link: re.Match[str], folder: Path) -> str:
    """A link of a page in ``folder``, rewritten for the staged copy of the page."""
    before, path, anchor, after = link.groups(default="")
    target = (folder / path).resolve()
    outside = {ROOT / path: name for path, name in TOP.items()}
    if target.parent == ROOT / "docs" or target in outside:
        return f"{before}{outside.get(target, target.name)}{anchor}{after}"
    if target.is_file() and target.is_relative_to(ROOT / "docs"):  # copied too, such as a notebook
        return f"{before}{target.relative_to(ROOT / 'docs').as_posix()}{anchor}{after}"
    if not target.is_file() or target.suffix not in SHOWN:
        raise SystemExit(f"{folder.name}: the link to {path} leads to nothing that a page can show")
    return f"{before}{_show_file(target)}{after}"


def _show_file(file: Path) -> str:
    """Write a page that shows a file of the repository; returns the path of the page."""
    name = file.relative_to(ROOT).as_posix()
    page = STAGE / "source" / f"{name}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    text = file.read_text(encoding="utf-8").rstrip()
    page.write_text(f"# {name}\n\n````{SHOWN[file.suffix]}\n{text}\n````\n", encoding="utf-8")
    return page.relative_to(STAGE).as_posix()


if __name__ == "__main__":
    sys.exit(main())
