"""Commands for language models: query one, and serve occupants as language models."""
