"""One finished game, written down: the record, its JSON, files of records, and words to read it by."""
