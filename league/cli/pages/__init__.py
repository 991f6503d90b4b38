"""The commands that write or serve pages to look at."""
