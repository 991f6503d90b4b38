"""League loop: planning of rounds (matchmaking, gates, repair, curriculum), their execution and commit."""
