"""The figures of README.md and of the pages of docs that have generated blocks, from docs/results."""
