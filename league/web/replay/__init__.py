"""The page that steps through recorded games."""
