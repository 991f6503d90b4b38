"""Records of finished games: the value, its JSON, files of records, transcripts and acts in plain English."""
