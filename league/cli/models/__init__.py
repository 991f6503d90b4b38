"""The commands about language models: fetch one, ask one, and serve occupants of ours as some."""
