"""The published human dialogues: utterances read as acts, games, positions, and people's results."""
