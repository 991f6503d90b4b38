"""One game at a table for one person: its view in text, typed lines and sentences, and the games of a session."""
