"""The figures of README.md and docs/RESULTS.md, CROWD.md, EQUILIBRIA.md, FIELD.md and OBJECTIVES.md, from docs/results."""
