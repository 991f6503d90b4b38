"""The page on which a person plays."""
