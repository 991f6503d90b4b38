"""The tables of a league as plain values, and the sections that the terminal and the report both show."""
