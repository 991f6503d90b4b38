"""Run a study with people: they play occupants, or each other, in a browser; then export it and say what it shows.

What happened is kept in output_dir, event by event, so that a study that was stopped goes on: docs/STUDY.md.

examples:
  dond study serve                 # with configs/study.yaml: prints the address to open
  dond study export runs/study     # what may leave the study
  dond study analyse runs/study    # the table of it
"""

from __future__ import annotations

from league.cli.shell import Group

COMMANDS = ("serve", "codes", "export", "analyse", "power", "rehearse")

command = Group("study", help=__doc__, files={name: f"league.cli.study.{name}" for name in COMMANDS})
