"""Write docs/RESULTS.md, generated blocks of other pages, their figures, and the tables under docs/results/tables.

All are made from the files under docs/results, and the pages from the templates next to this module. A block of a page
is the text between its two marks; nothing else of that page is changed. The file ``made_from.json`` next to the tables
holds the SHA-256 of every file that was read and of everything that was made: ``--check`` compares these, which takes
no time.

New lines of the benchmark under docs/results are appended to JSON lines; ``--store`` compresses them, and they are read
as before.

examples:
  python -m experiments.results
  python -m experiments.results --check    # change nothing; exit code 1 if something differs from the files
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from dond.cli.shell import Command, print_line, run
from dond_marl.errors import RunFailure
from experiments.results.figures import draw_all
from experiments.results.files import BENCH, FOLDER, ROOT, TABLES_FOLDER
from experiments.results.pages import render
from experiments.results.tables import TABLES, table_csv
from league.bench.results import store

RESULTS = ROOT / "docs" / "RESULTS.md"
PAGES = (ROOT / "README.md", ROOT / "docs" / "BENCHMARK.md", ROOT / "docs" / "EQUILIBRIA.md")  # with generated blocks
MADE_FROM = TABLES_FOLDER / "made_from.json"
BLOCK = re.compile(r"<!-- made by python -m experiments\.results: (\w+) -->\n(.*?)\n?<!-- end of \1 -->", re.DOTALL)


def rewrite_blocks(text: str, folder: Path = FOLDER) -> str:
    """A page with its blocks made from the files in ``folder``: block NAME by the template ``NAME.md.j2``."""

    def write_block(block: re.Match[str]) -> str:
        name, text = block[1], render(f"{block[1]}.md.j2", folder)
        return f"<!-- made by python -m experiments.results: {name} -->\n\n{text}\n<!-- end of {name} -->"

    return BLOCK.sub(write_block, text)


def make_all() -> dict[Path, str]:
    """Every page, figure and table, by its file; the record of what was made is not among them."""
    pages = {path: rewrite_blocks(path.read_text(encoding="utf-8")) for path in PAGES}
    tables = {TABLES_FOLDER / name: table_csv(name, FOLDER) for name in TABLES}
    tables[TABLES_FOLDER / "README.md"] = render("README.md.j2", FOLDER)
    return {RESULTS: render("RESULTS.md.j2", FOLDER), **pages, **draw_all(), **tables}


def digests(texts: dict[Path, str]) -> dict[str, dict[str, str]]:
    """The SHA-256 of every results file and template, and of every page, block, figure and table among ``texts``."""
    templates = [path for path in Path(__file__).parent.iterdir() if path.suffix in (".j2", ".yaml")]
    paths = sorted(path for path in (*FOLDER.iterdir(), *templates) if path.is_file())
    read = {path.relative_to(ROOT).as_posix(): _sha256(path.read_bytes()) for path in paths}
    return {"read": read, "made": dict(sorted(_made(texts)))}


def _made(texts: dict[Path, str]) -> Iterator[tuple[str, str]]:
    for path, text in texts.items():
        name = path.relative_to(ROOT).as_posix()
        if path in PAGES:
            yield from ((f"{name}#{block[1]}", _sha256(block[0].encode())) for block in BLOCK.finditer(text))
        else:
            yield name, _sha256(text.encode())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def outdated() -> list[str]:
    """Names of the inputs and generated files whose digests differ from the recorded ones."""
    recorded = json.loads(MADE_FROM.read_text(encoding="utf-8")) if MADE_FROM.is_file() else {}
    names = [ROOT / name for name in recorded.get("made", {}) if "#" not in name]
    texts = {path: path.read_text(encoding="utf-8") for path in (*PAGES, *names) if path.is_file()}
    return [
        name
        for kind, current in digests(texts).items()
        for name in {**current, **recorded.get(kind, {})}
        if current.get(name) != recorded.get(kind, {}).get(name)
    ]


@click.command(cls=Command, help=__doc__)
@click.option("--check", is_flag=True, help="change nothing, only compare the SHA-256 of all files with the record")
@click.option("--store", "stores", is_flag=True, help="first compress the benchmark's JSON lines")
def command(check: bool, stores: bool) -> None:
    """Write pages, figures and tables, or compare them with the record."""
    if stores:
        store([path for name in BENCH if (path := FOLDER / f"{name}.jsonl").is_file()])
    if check:
        if names := outdated():
            raise RunFailure(f"{names[0]} differs from docs/results: run python -m experiments.results")
        return
    texts = make_all()
    record = json.dumps(digests(texts), indent=1) + "\n"
    for path, text in {**texts, MADE_FROM: record}.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print_line(f"written: {path}")


if __name__ == "__main__":
    sys.exit(run(command))
