"""The figures of README.md, docs/RESULTS.md and docs/CROWD.md, written from the files under docs/results."""
