"""Serve occupants on this machine as language models, for any client of OpenAI's protocol.

A prompt made from configs/llm_prompt.txt or configs/llm_prompt_short.txt is answered with one legal line of JSON, so
that any program that plays this game in words can use the expert, or a member of a league by its checkpoint. GET
/v1/models lists them; the name of a model is the occupant as it is written here.

examples:
  dond serve expert
  dond serve expert heuristic "boulware(exponent=4)" --port 9000
"""

from __future__ import annotations

import click

from dond.cli.shell import Command, integer, print_line, trust_option
from dond_marl.errors import InputError
from dond_marl.occupants import seat_occupant
from dond_marl.seats import Partner
from partners.llm.serving import PolicyServer

PORT = 8000


@click.command(cls=Command, help=__doc__, interrupted="the server has stopped")
@click.argument("occupants", nargs=-1, required=True, metavar="OCCUPANT...")
@click.option("--port", type=integer(0, 65535), default=PORT, metavar="N", help=f"0 for any free port ({PORT})")
@click.option(
    "--prior", default="lewis", metavar="NAME", help="the scenario distribution that occupants assume (lewis)"
)
@trust_option
def command(occupants: tuple[str, ...], port: int, prior: str, trust: bool) -> None:
    """Serve until stopped."""
    occupants_by_name: dict[str, Partner] = {
        name: seat_occupant(name, one_game=True, runs=True, trust=trust) for name in occupants
    }
    for name, partner in occupants_by_name.items():
        if partner.traits.human or partner.traits.privileged:
            raise InputError(f"{name} cannot be served: it needs a person, or information that is not in a prompt")
    try:
        server = PolicyServer(occupants_by_name, port, prior=prior)
    except OSError as error:
        raise InputError(f"--port {port} cannot be used ({error.strerror}); name another, or 0 for any") from None
    with server:
        print_line(f"{', '.join(occupants_by_name)} at {server.url}; Ctrl-C stops it")
        server.serve_forever(poll_interval=0.2)
