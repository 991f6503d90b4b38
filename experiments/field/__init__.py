"""This game as others play it: negotiation agents, published tables, transcripts of large models, arenas, words."""
