"""Short games as tests of learning: learners that meet only themselves, beside equilibria, exact."""
