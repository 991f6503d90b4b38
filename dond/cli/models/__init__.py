"""Commands for language models: fetch one, query one, and serve occupants as language models."""
