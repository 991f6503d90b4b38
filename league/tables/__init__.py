"""The table model of a league and its renderings, shared by terminal, report, pages and results."""
