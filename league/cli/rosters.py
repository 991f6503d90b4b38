"""List the rosters of partners, check whether an occupant may be in one, or draw them anew.

Learners train against the roster train (zoo in a config), methods are tuned on dev, and no measured policy has met a
member of test.

examples:
  dond rosters list
  dond rosters check                            # all members: hashes, and similarity to each other
  dond rosters check first_acceptable_offer     # why this one would be refused
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import RenderableType
from rich.table import Table

from dond_marl.occupants import check_spec
from league.cli.shell import FILE, SEED, Command, Group, WritableFile, console_for_people, say
from partners.provenance import programs
from partners.rosters import FILE as SHIPPED
from partners.rosters import ROSTERS, TEST, load_rosters, plain_name, rosters_text
from partners.rosters.draw import (
    LIMIT,
    Assessment,
    Comparisons,
    admission_csv,
    admission_markdown,
    admission_path,
    draw,
    read_admission,
)
from partners.rosters.draw import SEED as PUBLISHED

FORMATS = ("text", "markdown", "csv")
file_option = click.option(
    "--file", "path", type=FILE, default=SHIPPED, metavar="FILE", help="of rosters (the package's)"
)


@click.group(cls=Group, help=__doc__)
def command() -> None:
    """Has subcommands alone."""


@command.command("list", cls=Command)
@click.argument("names", nargs=-1, type=click.Choice(ROSTERS), metavar="[ROSTER]...")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="as text, markdown or csv (text)")
@file_option
def list_command(names: tuple[str, ...], form: str, path: Path) -> None:
    """Print the members, the member of train that each is most like, and how often the two act alike.

    examples:
      dond rosters list
      dond rosters list test --format csv
    """
    rosters, shown = load_rosters(path), names or ROSTERS
    rows = [row for row in read_admission(admission_path(path).read_text(encoding="utf-8")) if row.roster in shown]
    taken = [row for row in rows if not row.reason]
    if form != "text":
        click.echo(admission_csv(taken) if form == "csv" else admission_markdown(taken, programs), nl=False)
        return
    console = console_for_people()
    for name in (name for name in ROSTERS if name in shown):
        console.print(_table(name, [row for row in taken if row.roster == name]))
        say(f"{len(rosters.members[name])} members, sha256 {rosters.hashes[name]}\n")
    say(f"drawn from {len(rosters.families)} families by the seed {rosters.seed}")


@command.command(cls=Command)
@click.argument("members", nargs=-1, metavar="[OCCUPANT]...")
@click.option("--as", "roster_name", type=click.Choice(ROSTERS), default=TEST, help="the roster it would be in (test)")
@file_option
def check(members: tuple[str, ...], roster_name: str, path: Path) -> None:
    """Recompute how similar the members are, or say whether these occupants may be members.

    The exit code is 2 if a member is not allowed.

    examples:
      dond rosters check
      dond rosters check "linear(exponent=3)" --as dev
    """
    rosters, comparisons = load_rosters(path), Comparisons()
    if members:
        for member in members:
            check_spec(member)  # says who is near
        found = [comparisons.assess(plain_name(member), roster_name, rosters.members) for member in members]
    else:
        if damage := rosters.damage():
            raise click.UsageError(f"{path}: {damage}; draw them with `dond rosters draw`")
        found = comparisons.assess_all(rosters.members)
    for row in found:
        say(f"{row.roster:6} {row.member:60} {row.reason or f'apart: {_near(row)}'}")
    refused = [row.member for row in found if row.reason]
    if refused and not members:
        raise click.UsageError(f"{len(refused)} of {len(found)} may not be there: {', '.join(refused)}")


@command.command("draw", cls=Command)
@click.option("--seed", type=SEED, default=PUBLISHED, metavar="N", help=f"of the draw; the published one ({PUBLISHED})")
@click.option("--out", type=WritableFile(), default=SHIPPED, metavar="FILE", help="where to write them (the package)")
def draw_command(seed: int, out: Path) -> None:
    """Draw the rosters from the families of partners, and write them with a record of what was refused and why.

    Policies trained on the old rosters have to be trained again: the new ones have other members.

    examples:
      dond rosters draw --seed 7 --out mine.yaml
    """
    from partners.rosters.draw import FAMILIES

    drawn = draw(FAMILIES, seed, report=lambda row: say(f"{row.roster:6} {row.member:60} {row.reason or 'taken'}"))
    out.write_text(rosters_text(drawn.rosters), encoding="utf-8")
    admission_path(out).write_text(admission_csv([*drawn.admitted, *drawn.refused]), encoding="utf-8")
    say(f"rosters_text: {out} and {admission_path(out).name}")


def _table(name: str, rows: list[Assessment]) -> RenderableType:
    table = Table(title=name, title_justify="left", box=None)
    for heading in ("member", "most like, of train", "same decision"):
        table.add_column(heading, justify="right" if heading == "same decision" else "left")
    for row in rows:
        who, share = row.nearest_train
        table.add_row(row.member, who, f"{share:.1%}")
    return table


def _near(row: Assessment) -> str:
    who, share = row.nearest
    return f"{share:.1%} like {who}, below {LIMIT:.0%}" if share < LIMIT else f"{share:.1%} like {who}"
