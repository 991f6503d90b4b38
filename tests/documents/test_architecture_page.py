"""docs/ARCHITECTURE.md: its rooms are the rooms, in their own words; each of its questions names a file that exists."""

from __future__ import annotations

import ast
import re

from tests.documents.pages import ROOT

PAGE = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
FLOORS = ("dond_marl", "hints", "partners", "league")


def test_every_room_is_on_the_page_in_its_own_words():
    rows = dict(re.findall(r"^\| `([\w/]+)/` \| (.+) \|$", PAGE, flags=re.MULTILINE))
    rooms = {
        str(path.parent.relative_to(ROOT)): path for floor in FLOORS for path in (ROOT / floor).rglob("__init__.py")
    }
    sentences = {room: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for room, path in rooms.items()}
    assert rows == {room: (sentence or "").split("\n\n")[0] for room, sentence in sentences.items()}


def test_each_of_thirty_questions_names_a_file_that_exists():
    rows = re.findall(r"^\| ([^|]+\?) \| `([\w/.]+)` \|$", PAGE, flags=re.MULTILINE)
    assert len({question for question, _ in rows}) == len({file for _, file in rows}) == 30
    assert [file for _, file in rows if not (ROOT / file).is_file()] == []


def test_every_file_that_the_page_names_exists():
    named = re.findall(r"`((?:dond_marl|hints|partners|league|scripts|configs|tests|docs)/[\w/.]*)`", PAGE)
    assert [name for name in named if not (ROOT / name).exists()] == []
