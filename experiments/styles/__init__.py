"""The style experiment: rewards from judges, compared as in the paper it repeats."""
