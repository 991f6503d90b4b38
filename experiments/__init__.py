"""Experiments behind the results pages: they may import every package, and no package imports them."""

# Name on the command line: module of the command.
COMMANDS = {
    "baselines": "experiments.baselines.command",
    "styles": "experiments.styles",
    "hints": "experiments.hints",
    "distill": "experiments.distill",
    "humanlike": "experiments.humanlike",
    "crowd": "experiments.mixture_response",
    "beliefs": "experiments.recognition",
    "double-oracle": "experiments.double_oracle",
    "equilibria": "experiments.equilibria",
    "rosters": "experiments.rosters",
    "short-games": "experiments.short_games",
    "post-training": "experiments.post_training.experiment",
    "anac": "experiments.anac",
    "annotator": "experiments.annotator",
    "published": "experiments.published",
    "published-table": "experiments.published_table",
}
