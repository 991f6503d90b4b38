"""The units of work that travel to a backend, and performing one of them."""
