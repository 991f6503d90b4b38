"""A very long value is quoted in a line, wherever it is given: settings, specs, options, file names, keys."""

from __future__ import annotations

import pytest

from dond_marl.errors import SHOWN, quote, shorten
from tests.command import dond

LONG, NUMBER = "x" * 100_000, "1" * 100_000
SETTINGS = (
    f"env.scenarios={LONG}", f"env.max_turns={NUMBER}", f"{LONG}=1", f"env.{LONG}=1", LONG, f"members=[{LONG}]",
    f"members=['boulware(exponent={LONG})']", f"members=[{{kind: boulware, {LONG}: 1}}]", f"env.scenarios=[{LONG}]",
    f"members=[{{kind: llm, provider: {LONG}}}]", f"members=[{{kind: checkpoint, path: {LONG}}}]",
)  # fmt: skip
LEAGUE = ("league", "--config", "league_quick.yaml", "--dry-run")
AGAINST = ("evaluate", "--against", "heuristic", "--member")
WORDS = (
    (*AGAINST, LONG), (*AGAINST, f"checkpoint(path='{LONG}')"), ("play", "--seat", LONG),
    ("play", "--record", LONG), ("play", "--seed", NUMBER), ("play", "--partner", f"linear({LONG}=1)"), (LONG,),
    ("league", f"--{LONG}"), ("league", "--config", LONG), ("league", "--resume", LONG), ("catalogue", LONG),
    ("train", "--config", LONG), ("play", "--record", "x " * 50_000), ("report", "--run", LONG),
)  # fmt: skip
FILES = (
    f"env: {{scenarios: {LONG}}}\n", f"{LONG}: 1\n", f"env: {{max_turns: {NUMBER}}}\n", f"env: !{LONG} 1\n",
    f"env: [{LONG}\n", f"members: ['boulware({LONG}=1)', random]\n",
)  # fmt: skip


def told(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert dond(*words) in (1, 2)
    said = capsys.readouterr()
    return said.out + said.err


@pytest.mark.parametrize("words", [*WORDS, *((*LEAGUE, "--set", one) for one in SETTINGS)], ids=range(25))
def test_a_very_long_word_of_a_command_line_is_quoted_in_a_line(words, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    text = told(capsys, *words)
    assert "xxxx" in text or "1111" in text or "x x" in text
    assert max(map(len, text.splitlines())) <= 700 and len(text) <= 3000, text[:2000]


@pytest.mark.parametrize("content", FILES, ids=range(len(FILES)))
def test_a_very_long_value_of_a_file_is_quoted_in_a_line(content, tmp_path, capsys):
    (tmp_path / "long.yaml").write_text(content)
    text = told(capsys, "league", "--dry-run", "--config", tmp_path / "long.yaml")
    assert max(map(len, text.splitlines())) <= 700 and len(text) <= 12_000, text[:2000]


def test_a_message_says_how_long_a_text_is_and_looks_at_the_beginning_of_anything_else_alone():
    assert quote("x" * 100_000) == f"'{'x' * SHOWN}'… (100,000 characters)"
    assert quote(b"x" * 81) == f"b'{'x' * SHOWN}'… (81 bytes)"
    assert quote(10**5000) == "a whole number of 16,610 bits" and quote(7) == "7" and quote("seven") == "'seven'"
    for value in ([0] * 10**6, {n: n for n in range(1000)}, [[[[[[1]]]]]], ["x" * 1000] * 1000, "\ud800\n" * 500):
        assert len(quote(value)) <= 2 * SHOWN and quote(value).isprintable()
    assert shorten(f"no {'y' * 5000}: give\nanother") == f"no {'y' * SHOWN}… (5,001 characters) give\nanother"
    assert shorten("as it is") == "as it is" and len(shorten("a b " * 5000)) < 120
