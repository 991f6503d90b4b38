"""The figures of README.md and docs/RESULTS.md, CROWD.md and EQUILIBRIA.md, from the files under docs/results."""
