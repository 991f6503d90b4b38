"""The commands of the experiments, one module each."""
