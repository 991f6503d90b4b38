"""The page on which two occupants play each other."""
