"""The page that follows a league while it runs."""
