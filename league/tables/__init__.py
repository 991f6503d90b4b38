"""The neutral table model, and the sections that the terminal and the report both show."""
