"""Arms with equal acts over the same seeds, each submitted to the benchmark: the baselines of a league."""
