"""Where a round's tasks are played: in this process, by workers beside it, or on a cluster. Results are the same."""
