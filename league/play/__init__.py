"""Tasks of a league, a match or a learner's practice: values whose results are functions of them; where they run."""
