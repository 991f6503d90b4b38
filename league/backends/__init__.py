"""Backends that run a round's tasks: this process, worker processes, or a cluster. The results are the same."""
