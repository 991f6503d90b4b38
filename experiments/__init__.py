"""Experiments behind the results pages: they may import every package, and no package imports them."""

# Name on the command line: module of the command.
COMMANDS = {
    "baselines": "experiments.baselines.command",
    "hints": "experiments.hints",
    "restricted": "experiments.restricted",
    "rosters": "experiments.rosters",
}
