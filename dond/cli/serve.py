"""Serve occupants on this machine as language models, or as partners of an assistant.

As models, to any client of OpenAI's protocols (chat completions and responses): a prompt made from
configs/llm_prompt.txt or configs/llm_prompt_short.txt is answered with one legal line of JSON, so that any program that
plays this game in words can use the expert, or a member of a league by its checkpoint. GET /v1/models lists them; the
name of a model is the occupant as it is written here. With --mcp, to one client of the Model Context Protocol over its
standard input and output: an assistant then plays against an occupant with the tools new_game, look, propose, insist,
agree and walk_away.

examples:
  dond serve expert
  dond serve expert heuristic "boulware(exponent=4)" --port 9000
  dond serve --mcp heuristic expert
"""

from __future__ import annotations

import socket

import click

from dond.cli.shell import Command, integer, print_line, trust_option
from dond.web.server import HOST, address_of, free_port, serve
from dond_marl.errors import InputError, require_library
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Partner

PORT = 8000


@click.command(cls=Command, help=__doc__, interrupted="the server has stopped")
@click.argument("occupants", nargs=-1, required=True, metavar="OCCUPANT...")
@click.option("--port", type=integer(0, 65535), default=PORT, metavar="N", help=f"0 for any free port ({PORT})")
@click.option(
    "--prior",
    default="lewis",
    metavar="NAME",
    help="the scenario distribution that occupants assume, and that --mcp deals from (lewis)",
)
@click.option("--mcp", is_flag=True, help="serve an assistant over standard input and output")
@trust_option
def command(occupants: tuple[str, ...], port: int, prior: str, mcp: bool, trust: bool) -> None:
    """Serve until stopped."""
    occupants_by_name: dict[str, Partner] = {
        name: seat_occupant(name, one_game=True, runs=True, trust=trust) for name in occupants
    }
    for name, partner in occupants_by_name.items():
        if partner.traits.human or partner.traits.privileged:
            raise InputError(f"{name} cannot be served: it needs a person, or information that is not in a prompt")
    if mcp:
        require_library("mcp", "dond serve --mcp")
        from dond.table.assistant import AssistantTable

        AssistantTable(occupants_by_name, open_source(prior), Rules()).server().run("stdio")
        return
    from dond.web.model_server import application  # Starlette is needed from here on
    from partners.llm.serving import ServedOccupants

    app, port = application(ServedOccupants(occupants_by_name, prior=prior)), free_port(port)
    with socket.create_server((HOST, port)) as listener:  # whoever reads the next line may connect
        print_line(f"{', '.join(occupants_by_name)} at {address_of(HOST, port)}/v1; Ctrl-C stops it")
        serve(app, HOST, port, listener)
