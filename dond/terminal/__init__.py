"""Output on a terminal: sections of tables in styles, and live views of leagues and trainings."""
