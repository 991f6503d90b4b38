"""Generated blocks and figures of README.md and of pages of docs, from docs/results."""
