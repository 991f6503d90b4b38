"""Compare arms with equal acts over seeds on the benchmark: PPO on a pool, self-play, a league, and untrained policies.

Every run has its own folder under output_dir. The same command continues what was stopped and repeats nothing that is
done, so a second roster costs only its games.

examples:
  dond experiment baselines                      # with baselines.yaml, against the roster dev
  dond experiment baselines --config ablation.yaml --dry-run
  dond experiment baselines --config ablation.yaml --seeds 3 --only pool_ppo --only league
  dond experiment baselines --against test --results docs/results/baselines.jsonl
  dond experiment baselines --config ablation.yaml --exploited docs/results/exploited.jsonl
"""

from __future__ import annotations

from pathlib import Path

import click

from dond_marl.errors import InputError
from dond_marl.records.files import write_atomically
from experiments.baselines.settings import BaselinesConfig
from league.cli.shell import FILE, Command, config_option, integer, output_console, print_line, set_option
from league.cli.stops import STOPS
from league.settings.read import load_config
from partners.rosters import ROSTERS

MOST_WORKERS = 64


@click.command(cls=Command, help=__doc__)
@config_option("baselines.yaml", default="experiments/configs/baselines.yaml", help="YAML file (baselines.yaml)")
@set_option
@click.option("--seeds", type=integer(1, 1000), metavar="N", help="of each arm that learns; overrides comparison.seeds")
@click.option(
    "--against",
    type=click.Choice(ROSTERS),
    multiple=True,
    help="a roster to be measured on, may be repeated; comparison.against otherwise",
)
@click.option(
    "--workers", type=integer(1, MOST_WORKERS), default=2, metavar="N", help="runs in parallel, one thread each (2)"
)
@click.option("--only", multiple=True, metavar="ARM", help="this arm alone; may be repeated")
@click.option("--dry-run", is_flag=True, help="print what remains to be done and what it would cost, stop")
@click.option("--results", type=FILE, metavar="FILE", help="the results file (results.jsonl in output_dir)")
@click.option(
    "--exploited",
    type=FILE,
    metavar="FILE",
    help="play nothing: what an exact best response takes from each finished run, added to this file",
)
def command(
    config_path: Path,
    overrides: tuple[str, ...],
    seeds: int | None,
    against: tuple[str, ...],
    workers: int,
    only: tuple[str, ...],
    dry_run: bool,
    results: Path | None,
    exploited: Path | None,
) -> None:
    """Train, measure, and print the table."""
    from experiments.baselines.measured import acts_section, lines_in, perform
    from experiments.baselines.plan import jobs_of
    from league.bench.run import opponents_of as opponents_of  # PyTorch is loaded from here on
    from league.bench.table import leaderboard
    from league.display.tables import print_section
    from league.report.render import report_html
    from league.tables.blocks import printable
    from league.tables.markdown import report_markdown

    given = {"comparison.seeds": seeds, "comparison.against": f"[{', '.join(against)}]" if against else None}
    overrides = (*overrides, *(f"{key}={value}" for key, value in given.items() if value is not None))
    config = load_config(config_path, overrides, BaselinesConfig)
    names = [arm.name for arm in config.arms]
    for name in only:
        if name not in names:
            raise InputError(f"--only {name}: no arm is called so; there are {', '.join(names)}")
    folder, comparison = Path(config.output_dir).expanduser(), config.comparison
    rosters, path = [opponents_of([name]) for name in comparison.against], results or folder / "results.jsonl"
    jobs = jobs_of(config, only or names)
    if dry_run:
        from experiments.baselines.forecast import forecast

        print_section(output_console(), forecast(jobs, rosters, lines_in(path)))
        return
    if exploited is not None:
        from experiments.baselines.exploited import measure
        from experiments.baselines.exploited import section as taken

        lines = measure(jobs, exploited, print_line)
        if not lines:
            raise InputError(
                f"--exploited: under {folder} no run of {', '.join(only or names)} is finished that has an exact best "
                "response; the same command without --exploited plays them"
            )
        reference = comparison.reference if any(line["arm"] == comparison.reference for line in lines) else None
        print_section(output_console(), taken(lines, reference))
        return
    measured_on = " and ".join(comparison.against)
    print_line(f"{len(jobs)} runs against the roster {measured_on}, {workers} at a time, under {folder}")
    STOPS.message = "stopped: what is done is kept, and the rest goes on where it was with the same command"
    done = sorted(perform(jobs, rosters, path, workers, print_line), key=lambda result: jobs.index(result.job))
    learned = {result.job.arm.name for result in done}
    over = comparison.reference if comparison.reference in learned else None
    report = leaderboard([row for result in done for row in result.rows], over)
    report = report._replace(sections=(*report.sections, acts_section(done, comparison.acts)))
    for section in report.sections:
        print_section(output_console(), section)
    table = folder / f"table_{'_'.join(comparison.against)}.md"
    write_atomically(table, report_markdown(report))
    write_atomically(table.with_suffix(".html"), report_html(printable(report._replace(title="Arms of equal acts"))))
    print_line(f"written: {path}, {table} and {table.with_suffix('.html').name}")
