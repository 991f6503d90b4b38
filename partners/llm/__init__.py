"""A language model in a seat: what it is asked, how its reply is read, and how it is reached."""
