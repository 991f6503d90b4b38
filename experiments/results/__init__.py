"""The results page, generated blocks of other pages, and figures: templates and values from docs/results."""
