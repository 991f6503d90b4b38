"""The sections of the report, one file each, computed from a run's ledger and files."""
