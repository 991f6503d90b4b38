"""Run every example of scripts/examples and report its result and the versions that it works with.

An example whose library pins other versions of Gymnasium, NumPy or pandas than this project gets a virtual environment
of its own in build/plug_in/NAME; the project is on its path, not installed in it.

examples:
  python scripts/plug_in.py              # all; half an hour, most of it training
  python scripts/plug_in.py --only sb3_vector_ppo --only rllib_ppo --steps 20000
  python scripts/plug_in.py --write      # and put the rows into docs/PLUG_IN.md
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

import click

from dond.cli import shell
from dond_marl.errors import RunFailure

ENVIRONMENTS = ROOT / "build" / "plug_in"
# Requirements of the project.
OWN_REQUIREMENTS = ("numpy==2.4.6", "pettingzoo==1.27.0", "scipy==1.17.1", "torch==2.13.0")
THREADS = {"OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}


class Example(NamedTuple):
    """One runnable file of ``scripts/examples``."""

    name: str
    kind: str
    library: str  # the distribution that is demonstrated
    others: tuple[str, ...] = ()  # libraries whose versions are shown too
    apart: tuple[str, ...] = ()  # requirements of its own virtual environment; none: it runs in this one
    learns: bool = True

    @property
    def path(self) -> Path:
        return ROOT / "scripts" / "examples" / f"{self.name}.py"


EXAMPLES = (
    Example("sb3_maskable_ppo", "masked PPO in self-play, SuperSuit's parallel vector", "sb3-contrib", ("SuperSuit",)),
    Example("cleanrl_style_ppo", "masked PPO in one file, Gymnasium's vector", "torch"),
    Example("sb3_vector_ppo", "masked PPO, `DealVectorEnv`", "sb3-contrib"),
    Example("tianshou_ppo", "masked PPO", "tianshou", apart=("tianshou==2.0.1", *OWN_REQUIREMENTS)),
    Example("rllib_ppo", "masked PPO", "ray", apart=("ray[rllib]==2.60.0", *OWN_REQUIREMENTS)),
    Example("openspiel_ppo", "OpenSpiel's PPO on this game as one of OpenSpiel's", "open-spiel", ("torch",)),
    Example("openspiel_bots", "any partner in OpenSpiel's `bargaining`", "open-spiel", learns=False),
    Example(
        "kaggle_agent",
        "any partner in Kaggle's game arena",
        "kaggle-environments",
        ("open-spiel",),
        ("kaggle-environments==1.33.2", *OWN_REQUIREMENTS[:3]),
        learns=False,
    ),
)


def interpreter_for(example: Example) -> Path:
    """The interpreter for an example; creates its virtual environment first if it needs one.

    Raises :class:`RunFailure`, whose message quotes pip.
    """
    if not example.apart:
        return Path(sys.executable)
    folder, python = ENVIRONMENTS / example.name, ENVIRONMENTS / example.name / "bin" / "python"
    installed = folder / "requirements.json"
    if not installed.is_file() or json.loads(installed.read_text(encoding="utf-8")) != list(example.apart):
        venv.create(folder, with_pip=True, clear=True)
        process = subprocess.run(  # noqa: S603  # our own requirements
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *example.apart],
            capture_output=True,
            text=True,
            check=False,
        )
        if process.returncode:
            raise RunFailure(f"{example.name}: pip cannot install {' '.join(example.apart)}:\n{process.stderr.strip()}")
        installed.write_text(json.dumps(example.apart), encoding="utf-8")
    return python


PAGE = ROOT / "docs" / "PLUG_IN.md"
BEGIN, END = "<!-- made by scripts/plug_in.py: begin -->", "<!-- made by scripts/plug_in.py: end -->"
LEARNED = re.compile(r"^points of ten .*: (.* before), (.*) after (\d+) s$", re.MULTILINE)
PLAYED = re.compile(r"^(.* points, n = \d+)$", re.MULTILINE)
VERSIONS = (
    "import platform, sys, importlib.metadata as m; print(platform.python_version(), *map(m.version, sys.argv[1:]))"
)
HEAD = ("| example | what | versions | result | works |", "|---|---|---|---|---|")
LINKED = re.compile(r"^\| \[`(\w+)\.py`\]")
PATIENCE = 3600  # seconds that one example may take


class ExampleResult(NamedTuple):
    """Result of one example."""

    example: Example
    versions: str
    outcome: str
    works: bool


def run_example(example: Example, steps: int | None) -> ExampleResult:
    """One example, for ``steps`` decisions if it learns; a failure becomes its outcome."""
    try:
        python = interpreter_for(example)
    except RunFailure as error:
        return ExampleResult(example, ", ".join(example.apart), str(error).splitlines()[0], False)
    versions = _versions(python, example)
    if versions is None:
        return ExampleResult(example, "not installed", f"pip install -e '.[examples]' brings {example.library}", False)
    options = ["--steps", str(steps)] if steps is not None and example.learns else []
    try:
        process = subprocess.run(  # noqa: S603  # our own file
            [python, example.path, *options],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **THREADS, "PYTHONPATH": str(ROOT)},
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return ExampleResult(example, versions, f"not done after {PATIENCE} s", False)
    outcome = _parse_outcome(example, process.stdout)
    if process.returncode or outcome is None:
        last = (process.stderr.strip() or "no figures").splitlines()[-1]
        return ExampleResult(example, versions, f"exit code {process.returncode}: {last}", False)
    return ExampleResult(example, versions, outcome, True)


def markdown_table(rows: Iterable[ExampleResult]) -> str:
    """The rows as a table of Markdown."""
    return "\n".join([*HEAD, *map(_line, rows)])


def write_to_page(rows: Iterable[ExampleResult], page: Path = PAGE) -> None:
    """Put the rows into the table of the page; rows of other examples stay."""
    before, tail = page.read_text(encoding="utf-8").split(BEGIN)
    table, after = tail.split(END)
    lines = {match[1]: line for line in table.splitlines() if (match := LINKED.match(line))}
    lines |= {row.example.name: _line(row) for row in rows}
    order = [example.name for example in EXAMPLES]
    names = sorted(lines, key=lambda name: order.index(name) if name in order else len(order))
    text = "\n".join([*HEAD, *(lines[name] for name in names)])
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def _line(row: ExampleResult) -> str:
    example, versions, outcome, works = row
    link = f"[`{example.name}.py`](../scripts/examples/{example.name}.py)"
    note = "" if not example.apart else " (in an environment of its own)"
    cells = (link, example.kind + note, versions, outcome, "yes" if works else "no")
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _versions(python: Path, example: Example) -> str | None:
    """The versions of the library, of its other libraries, Gymnasium and Python; ``None`` if one is missing."""
    names = (example.library, *example.others, "gymnasium")
    process = subprocess.run(  # noqa: S603  # our own line
        [python, "-c", VERSIONS, *names], capture_output=True, text=True, check=False
    )
    if process.returncode:
        return None
    of_python, *versions = process.stdout.split()
    return ", ".join(
        f"{name} {version}" for name, version in (*zip(names, versions, strict=True), ("Python", of_python))
    )


def _parse_outcome(example: Example, printed: str) -> str | None:
    if not example.learns:
        return "; ".join(PLAYED.findall(printed)) or None
    match = LEARNED.search(printed)
    return None if match is None else f"{match[1]}, {match[2]} after {int(match[3]):,} s"


STEPS = shell.Number(int, lambda steps: steps >= 1, "an integer of at least 1")


@click.command(cls=shell.Command, help=__doc__)
@click.option(
    "--only",
    "examples",
    type=click.Choice([example.name for example in EXAMPLES]),
    multiple=True,
    metavar="NAME",
    help=f"run only this; may be repeated: {', '.join(example.name for example in EXAMPLES)}",
)
@click.option("--steps", type=STEPS, metavar="N", help="decisions to learn from (each example's own default)")
@click.option("--write", "to_page", is_flag=True, help="put the rows into docs/PLUG_IN.md")
def command(examples: tuple[str, ...], steps: int | None, to_page: bool) -> int:
    """Exit code 0 if every example works, 1 otherwise."""
    rows = []
    for example in EXAMPLES:
        if not examples or example.name in examples:
            click.echo(f"{example.name} ...", err=True)
            rows.append(run_example(example, steps))
    click.echo(markdown_table(rows))
    if to_page:
        write_to_page(rows)
    return int(not all(row.works for row in rows))


if __name__ == "__main__":
    sys.exit(shell.run(command))
