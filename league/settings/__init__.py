"""The YAML files and the command line, read, checked and merged into one frozen config."""
