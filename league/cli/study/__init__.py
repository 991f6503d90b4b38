"""The commands of a study with people."""
