"""The policy network as an occupant of a seat, and its checkpoint files."""
