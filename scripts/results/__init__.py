"""The figures of README.md and docs/RESULTS.md, written from the files under docs/results."""
