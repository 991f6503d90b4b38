"""Double oracle with exact best responses: a league without noise, in games short enough to be certain about."""
