"""The commands about language models: ask one, and serve occupants of ours as some."""
