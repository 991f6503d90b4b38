"""Studies behind the results pages: they use every package of the project, and no package needs them."""

# Name on the command line: module of the command.
COMMANDS = {
    name: f"experiments.commands.{name.replace('-', '_')}"
    for name in (
        *("baselines", "styles", "hints", "distill", "humanlike", "double-oracle", "equilibria", "short-games"),
        *("post-training", "frontier", "anac", "published", "published-table"),
    )
}
