"""Settings: YAML files and command-line overrides, read, checked and merged into one frozen config."""
