"""Compare arms with equal acts over seeds on the benchmark: PPO on a pool, self-play, a league, and untrained policies.

Every run has its own folder under output_dir. The same command continues a stopped comparison and repeats nothing that
is finished, so a second roster costs only its games.

examples:
  python -m experiments baselines                      # with baselines.yaml, against the roster dev
  python -m experiments baselines --config ablation.yaml --dry-run
  python -m experiments baselines --config ablation.yaml --seeds 3 --only pool_ppo --only league
  python -m experiments baselines --against dev2 --results docs/results/baselines.jsonl
  python -m experiments baselines --against test2 --reason "figures of the paper"   # held out: logged
"""

from __future__ import annotations

from pathlib import Path

import click

from dond.cli.shell import FILE, RosterName, integer, print_line
from dond_marl.errors import InputError
from dond_marl.files import user_path
from dond_marl.records.files import write_atomically
from experiments.baselines.plan import BaselinesConfig, plan_jobs
from experiments.kit import RESULTS, experiment_command, show_sections
from league.settings.read import load_config


@experiment_command(__doc__, "baselines.yaml", workers=2)
@click.option("--results", type=FILE, metavar="FILE", help=f"results file ({RESULTS} in output_dir)")
@click.option("--seeds", type=integer(1, 1000), metavar="N", help="of each arm that learns; overrides comparison.seeds")
@click.option(
    "--against",
    type=RosterName(),
    multiple=True,
    help="a roster to measure on; may be repeated (comparison.against)",
)
@click.option("--reason", metavar="TEXT", help="with test2: why, for the log of its evaluations")
@click.option("--log", type=FILE, metavar="FILE", help="with test2: the log (that of the checkout, or by the results)")
@click.option("--only", multiple=True, metavar="ARM", help="this arm alone; may be repeated")
@click.option("--dry-run", is_flag=True, help="print the remaining work and its estimated cost, then stop")
@click.option("--allow-uncommitted", is_flag=True, help="though the sources differ from the commit; the rows say so")
def command(
    config_path: Path,
    overrides: tuple[str, ...],
    workers: int,
    results: Path | None,
    seeds: int | None,
    against: tuple[str, ...],
    reason: str | None,
    log: Path | None,
    only: tuple[str, ...],
    dry_run: bool,
    allow_uncommitted: bool,
) -> None:
    """Train, measure, and print the table."""
    from experiments.baselines.runs import acts_section, forecast_section, read_rows, run_jobs  # loads PyTorch
    from league.bench.run import check_committed, opponents_of
    from league.bench.table import leaderboard
    from league.bench.test2 import logging_of
    from league.tables.markdown import report_markdown

    options = {"comparison.seeds": seeds, "comparison.against": f"[{', '.join(against)}]" if against else None}
    overrides = (*overrides, *(f"{key}={value}" for key, value in options.items() if value is not None))
    config = load_config(config_path, overrides, BaselinesConfig)
    names = [arm.name for arm in config.arms]
    for name in only:
        if name not in names:
            raise InputError(f"--only {name}: unknown arm; the arms are {', '.join(names)}")
    folder, comparison = user_path(config.output_dir), config.comparison
    rosters, path = [opponents_of([name]) for name in comparison.against], results or folder / RESULTS
    jobs = plan_jobs(config, only or names)
    if dry_run:
        show_sections(forecast_section(jobs, rosters, read_rows(path)))
        return
    check_committed(allow_uncommitted)
    partners = [partner for opponents in rosters for partner in opponents.partners]
    logging = logging_of(partners, path, reason, log)
    print_line(
        f"{len(jobs)} runs against the roster {' and '.join(comparison.against)}, {workers} at a time, under {folder}"
    )
    results_of = run_jobs(jobs, rosters, path, workers, print_line, labels=comparison.labels, logging=logging)
    done = sorted(results_of, key=lambda result: jobs.index(result.job))
    reference = comparison.reference if any(result.job.arm.name == comparison.reference for result in done) else None
    report = leaderboard([row for result in done for row in result.rows], reference, comparison.smallest_effect)
    report = report._replace(sections=(*report.sections, acts_section(done, comparison.acts)))
    show_sections(*report.sections)
    table = folder / f"table_{'_'.join(comparison.against)}.md"
    write_atomically(table, report_markdown(report))
    print_line(f"written: {path} and {table}")
