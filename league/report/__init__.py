"""A league run as a report: one collection of facts (:mod:`league.report.collect`), in four formats."""
