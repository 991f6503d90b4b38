"""All that a person touches: the command line, the terminal, the bargaining table, reports, pages and studies."""
