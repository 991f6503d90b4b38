"""Arms of equal acts over the same seeds, each submitted to the benchmark: what a league has to be better than."""
