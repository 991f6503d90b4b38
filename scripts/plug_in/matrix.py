"""Run the examples and write down what came of them, with which versions, as a table of ``docs/PLUG_IN.md``."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from scripts.plug_in.places import EXAMPLES, ROOT, Example, PlaceError, environment, python_of

PAGE = ROOT / "docs" / "PLUG_IN.md"
BEGIN, END = "<!-- made by scripts/plug_in/__main__.py: begin -->", "<!-- made by scripts/plug_in/__main__.py: end -->"
LEARNED = re.compile(r"^points of ten .*: (.* before), (.*) after (\d+) s$", re.MULTILINE)
PLAYED = re.compile(r"^(.* points, n = \d+)$", re.MULTILINE)
VERSIONS = (
    "import platform, sys, importlib.metadata as m; print(platform.python_version(), *map(m.version, sys.argv[1:]))"
)
HEAD = ("| example | what | versions | what came of it | works |", "|---|---|---|---|---|")
LINKED = re.compile(r"^\| \[`(\w+)\.py`\]")
PATIENCE = 3600  # seconds that one example may take


class Row(NamedTuple):
    """What came of one example."""

    example: Example
    versions: str
    outcome: str
    works: bool


def run(example: Example, steps: int | None) -> Row:
    """One example, for ``steps`` decisions if it learns; whatever fails is its outcome."""
    try:
        python = python_of(example)
    except PlaceError as error:
        return Row(example, ", ".join(example.apart), str(error).splitlines()[0], False)
    versions = _versions(python, example)
    if versions is None:
        return Row(example, "not installed", f"pip install -e '.[examples]' brings {example.library}", False)
    options = ["--steps", str(steps)] if steps is not None and example.learns else []
    try:
        done = subprocess.run(  # noqa: S603  # our own file
            [python, example.path, *options],
            capture_output=True,
            text=True,
            check=False,
            env=environment(),
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return Row(example, versions, f"not done after {PATIENCE} s", False)
    outcome = _outcome(example, done.stdout)
    if done.returncode or outcome is None:
        last = (done.stderr.strip() or "no figures").splitlines()[-1]
        return Row(example, versions, f"exit code {done.returncode}: {last}", False)
    return Row(example, versions, outcome, True)


def table(rows: Iterable[Row]) -> str:
    """The rows as a table of Markdown."""
    return "\n".join([*HEAD, *map(_line, rows)])


def write(rows: Iterable[Row], page: Path = PAGE) -> None:
    """Put the rows into the table of the page; those of other examples stay."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    old, after = rest.split(END)
    lines = {match[1]: line for line in old.splitlines() if (match := LINKED.match(line))}
    lines |= {row.example.name: _line(row) for row in rows}
    known = [example.name for example in EXAMPLES]
    kept = sorted(lines, key=lambda name: known.index(name) if name in known else len(known))
    text = "\n".join([*HEAD, *(lines[name] for name in kept)])
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def _line(row: Row) -> str:
    example, versions, outcome, works = row
    link = f"[`{example.name}.py`](../scripts/examples/{example.name}.py)"
    place = "" if not example.apart else " (in a place of its own)"
    cells = (link, example.what + place, versions, outcome, "yes" if works else "no")
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _versions(python: Path, example: Example) -> str | None:
    """The versions of the library, of those named beside it, of Gymnasium and Python; ``None`` if one is missing."""
    names = (example.library, *example.others, "gymnasium")
    done = subprocess.run(  # noqa: S603  # our own line
        [python, "-c", VERSIONS, *names], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return None
    of_python, *versions = done.stdout.split()
    return ", ".join(
        f"{name} {version}" for name, version in (*zip(names, versions, strict=True), ("Python", of_python))
    )


def _outcome(example: Example, printed: str) -> str | None:
    if not example.learns:
        return "; ".join(PLAYED.findall(printed)) or None
    match = LEARNED.search(printed)
    return None if match is None else f"{match[1]}, {match[2]} after {int(match[3]):,} s"
