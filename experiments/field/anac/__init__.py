"""Negotiators of the ANAC competitions against a fixed set of ours, on the test scenarios, in both seats."""
