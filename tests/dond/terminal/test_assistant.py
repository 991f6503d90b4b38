"""An assistant's games over the Model Context Protocol, by the client of the package itself."""

from __future__ import annotations

import asyncio
import re

import pytest

from dond.table.assistant import AssistantTable
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import open_source
from tests.command import HERE, PROGRAM

OCCUPANTS = ("tough", "heuristic")


@pytest.fixture(autouse=True)
def installed():
    pytest.importorskip("mcp")


def served():
    """A server in this process."""
    partners = {name: seat_occupant(name, one_game=True) for name in OCCUPANTS}
    return AssistantTable(partners, open_source("lewis"), Rules()).server()


def played(*calls: tuple[str, dict[str, object]], server):
    """The text of each call, and whether it is an error; then the tools."""
    import mcp  # of an optional library, and slow to load

    async def play():
        async with mcp.Client(server) as client:
            answers = [await client.call_tool(name, arguments) for name, arguments in calls]
            tools = {tool.name: tool.input_schema["properties"] for tool in (await client.list_tools()).tools}
        return [(answer.content[0].text, bool(answer.is_error)) for answer in answers], tools

    return asyncio.run(play())


NEW = {"partner": "heuristic", "seat": 0, "seed": 5}


def test_a_client_plays_a_game_to_its_end():
    import mcp

    command, *words = map(str, PROGRAM)  # in a process of its own
    server = mcp.StdioServerParameters(command=command, args=[*words, "serve", "--mcp", *OCCUPANTS], env=HERE)
    moves = (("new_game", NEW), ("propose", {"books": 0, "hats": 0, "balls": 0}), ("look", {}))
    answers, tools = played(*moves, server=server)
    assert set(tools) == {"new_game", "look", "propose", "insist", "agree", "walk_away"}
    assert set(tools["propose"]) == {"books", "hats", "balls"} and set(tools["agree"]) == set()
    (begun, *_), (proposed, error), (looked, _) = answers
    assert not error and proposed == looked and "heuristic" in begun
    (yours,) = re.findall(r"you get (\d+) point", proposed)
    assert yours == "0"  # everything was given away, and taken


def test_errors_are_texts_and_change_nothing():
    answers, _ = played(
        ("look", {}),
        ("new_game", {"partner": "nobody"}),
        ("new_game", NEW),
        ("agree", {}),
        ("insist", {"books": 11, "hats": 0, "balls": 0}),
        ("look", {}),
        ("walk_away", {}),
        ("propose", {"books": 0, "hats": 0, "balls": 0}),
        server=served(),
    )
    assert [error for _, error in answers] == [True, True, False, True, True, False, False, True]
    texts = [text for text, _ in answers]
    assert "new_game" in texts[0] and "tough, heuristic" in texts[1] and texts[2] == texts[5]
    assert "no deal" in texts[6].lower()


def test_the_partner_is_any_occupant_and_opens_where_it_has_the_seat():
    new = ("new_game", {"seat": 1, "seed": 2})
    (begun, error), (again, _) = played(new, new, server=served())[0]
    assert not error and begun == again and "1. they:" in begun and "tough" in begun
