"""Language models as occupants of a seat: prompts, parsing of replies, and clients of local and remote models."""
