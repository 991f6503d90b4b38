"""Every script's ``--help``: examples that name only what there is, at any width, without color where nobody sees it.

All scripts answer in one process: what takes time is starting Python and loading libraries.
"""

from __future__ import annotations

import ast
import io
import re
import runpy
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from league.cli.help_text import WORDS, HelpText

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))
OFTEN, NARROW = 80, 40  # columns


@pytest.fixture(scope="module", params=SCRIPTS, ids=lambda path: path.name)
def script(request) -> Path:
    return request.param


def told(path: Path, columns: int, monkeypatch: pytest.MonkeyPatch, folder: Path) -> str:
    """What a script says of itself on a terminal of so many columns, asked in another directory."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "argv", [str(path), "--help"])
    monkeypatch.setattr(sys, "path", [str(path.parent), *sys.path[1:]])
    said = io.StringIO()
    with redirect_stdout(said), pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert ended.value.code == 0
    return said.getvalue()


def commands(examples: str) -> list[str]:
    """The commands of an epilog, folded or not, one by one and without comments."""
    lines = examples.replace("\\\n", " ").splitlines()
    bare = (" ".join(line.split("  #")[0].split()) for line in lines)
    return [line for line in bare if line.startswith("python ")]


@pytest.mark.parametrize("columns", [NARROW, OFTEN, 200])
def test_a_script_explains_itself_on_a_terminal_of_any_width(script, columns, monkeypatch, tmp_path):
    said = told(script, columns, monkeypatch, tmp_path)
    summary, examples = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))).split("examples:\n")
    assert "usage:" in said and "\x1b" not in said, "no color: this is no terminal"
    for paragraph in summary.strip().split("\n\n"):
        assert " ".join(paragraph.split()) in " ".join(said.split())
    assert commands(said.partition("examples:\n")[2]) == commands(examples) != []
    for line in said.splitlines():
        # What cannot be broken may stick out: an option with its choices or its quoted value, an address.
        assert len(line) <= columns or len(WORDS.findall(line.removesuffix("\\"))) <= 2, line


def test_the_examples_name_options_and_files_that_there_are(script, monkeypatch, tmp_path):
    said = told(script, 200, monkeypatch, tmp_path)
    head, _, examples = said.partition("examples:\n")
    for command in commands(examples):
        assert command.startswith(f"python scripts/{script.name}"), command
        if "subparsers" not in script.read_text(encoding="utf-8"):  # whose options their own help names
            assert set(re.findall(r"(?<= )--[\w-]+", command)) <= set(re.findall(r"--[\w-]+", head)), command
        for path in re.findall(r"configs/\w+\.yaml", command):
            assert (ROOT / path).is_file(), command


def test_an_example_is_folded_so_that_a_shell_reads_it_as_it_was():
    text = HelpText("x")._fill_text(
        'examples:\n  python x.py --set "members=[a, b, c]" --name value --flag  # what it does\n', 38, ""
    )
    assert text.splitlines() == [
        "examples:",
        "  # what it does",
        "  python x.py \\",
        '      --set "members=[a, b, c]" \\',
        "      --name value --flag",
    ]
    joined = subprocess.run(
        ["bash", "-c", text.split("\n", 2)[2].replace("python x.py", "printf '%s\\n'")], capture_output=True, text=True
    )
    assert joined.stdout.splitlines() == ["--set", "members=[a, b, c]", "--name", "value", "--flag"]
