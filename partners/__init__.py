"""Who can sit in a seat, and how it learns."""
