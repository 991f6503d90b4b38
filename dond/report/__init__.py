"""Report on a league's run: facts read once from its ledger and files (:mod:`dond.report.collect`), as HTML or JSON."""
