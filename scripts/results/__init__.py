"""The figures of README.md and docs/RESULTS.md, CROWD.md, EQUILIBRIA.md and FIELD.md, from docs/results."""
