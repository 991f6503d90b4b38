"""A study with people: settings, assignment, journal, pages, export, and the analysis of what was played."""
