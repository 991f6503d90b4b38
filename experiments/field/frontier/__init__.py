"""Public games of frontier models, scored again, and our occupants on the same tables under the same protocol."""
