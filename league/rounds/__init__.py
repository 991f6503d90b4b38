"""League loop: planning of rounds (matchmaking, gates, curriculum), their execution and commit."""
