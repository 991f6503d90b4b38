"""A table for an assistant: a game against any of several occupants as tools of the Model Context Protocol."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING

from dond.table.game import ending, talk_lines, turns_left
from dond.table.session import RECORDS, Sitting, TableSession
from dond_marl.errors import DondError, InputError, quote
from dond_marl.game import ITEMS, SEATS, Act, Action, IllegalAct, Rules, as_seat
from dond_marl.records.transcript import describe_items
from dond_marl.rollout import OccupantError
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import Partner

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer  # of an optional library

INSTRUCTIONS = """Deal or No Deal: two seats split books, hats and balls. Each item is worth points to you that the
partner does not know, and other points to the partner. A deal pays you the worth of what you get; without one both get
nothing. The talk has at most {turns} acts in all. Call new_game, then act when it is your turn."""


class AssistantTable:
    """One game at a time of one client; every method is a tool whose text is the table after it.

    ``partners``: by name, the first of them being the default. Raises :class:`InputError` and what the partner raises.
    """

    def __init__(self, partners: Mapping[str, Partner], source: ScenarioSource, rules: Rules) -> None:
        self._partners, self._source, self.rules = dict(partners), source, rules
        self._table: TableSession | None = None
        self._lock = threading.Lock()  # clients may call tools side by side

    def new_game(self, partner: str | None = None, seat: int | None = None, seed: int | None = None) -> str:
        """Begin a new game, giving up an open one.

        partner: name of the opponent, by default the first that is served. seat: 0 opens, 1 answers, by default drawn.
        seed: a whole number that fixes items, values and the opponent's random choices.
        """
        name = next(iter(self._partners)) if partner is None else partner
        if name not in self._partners:
            raise InputError(f"there is no partner {quote(name)}; there are {', '.join(self._partners)}")
        seed = secrets.randbits(31) if seed is None else abs(seed)
        seat = seed % 2 if seat is None else as_seat(seat)
        table = TableSession(Sitting(self._partners[name], name, self._source, self.rules, seed, RECORDS, seat))
        table.proceed(table.next_turn())
        self._table = table
        return self.look()

    def look(self) -> str:
        """Show the table: items, your values, the talk so far, and whose turn it is."""
        table = self._open()
        seat, state, scenario = table.seat, table.game.state, table.game.state.scenario
        values = ", ".join(f"{item} {value}" for item, value in zip(ITEMS, scenario.utilities[seat], strict=True))
        lines = [
            f"You are {SEATS[seat]}, the partner is {table.sitting.name}.",
            f"On the table: {describe_items(scenario.counts)}. Worth to you, each: {values}.",
        ]
        for number, line in enumerate(talk_lines(state, seat), start=1):
            lines.append(
                f"{number}. {'you' if line.by_person else 'they'}: {line.text} [{line.note}]".replace(" []", "")
            )
        lines.append(ending(state, seat) if state.is_over else f"Your turn: {turns_left(state)}.")
        return "\n".join(lines)

    def propose(self, books: int, hats: int, balls: int) -> str:
        """Propose a split: the numbers of items that you keep; the partner gets the rest."""
        return self._act(Action(Act.PROPOSE, (books, hats, balls)))

    def insist(self, books: int, hats: int, balls: int) -> str:
        """Propose a split as your last word: the numbers of items that you keep."""
        return self._act(Action(Act.INSIST, (books, hats, balls)))

    def agree(self) -> str:
        """Accept the partner's offer; legal only if its last act was an offer."""
        return self._act(Action(Act.AGREE))

    def walk_away(self) -> str:
        """End the game without a deal: nothing for both."""
        return self._act(Action(Act.DISAGREE))

    def _open(self) -> TableSession:
        if self._table is None:
            raise InputError("there is no game yet: call new_game first")
        return self._table

    def _act(self, action: Action) -> str:
        """The table after an act and the partner's answer; as it was before if the partner fails."""
        table = self._open()
        if table.is_over:
            raise InputError("the game is over: call new_game for another")
        before = table.game
        table.play(action)
        if not table.is_over:
            try:
                table.proceed(table.next_turn())
            except OccupantError:
                table.game = before
                raise
        return self.look()

    def tools(self) -> list[Callable[..., str]]:
        return [self.new_game, self.look, self.propose, self.insist, self.agree, self.walk_away]

    def server(self) -> MCPServer:
        """An MCP server of the tools; their errors are texts for the model. Needs the extra ``[mcp]``."""
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError

        def reporting(tool: Callable[..., str]) -> Callable[..., str]:
            @wraps(tool)
            def call(**arguments: object) -> str:
                try:
                    with self._lock:
                        return tool(**arguments)
                except (DondError, IllegalAct, ValueError) as error:
                    raise ToolError(str(error)) from None

            return call

        instructions = INSTRUCTIONS.format(turns=self.rules.max_turns)
        server = MCPServer("deal-or-no-deal", instructions=instructions, log_level="ERROR")
        for tool in self.tools():
            server.tool(structured_output=False)(reporting(tool))
        return server
