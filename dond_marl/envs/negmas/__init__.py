"""The game for NegMAS: its negotiators in a seat, asked in a process of their own, and our occupants among them."""
