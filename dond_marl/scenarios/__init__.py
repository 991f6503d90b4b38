"""Where the table comes from: the pool and both seats' values, sampled, enumerated or read from the published files."""
