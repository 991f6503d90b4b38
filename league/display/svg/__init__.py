"""Figures as SVG for the web page and the report."""
