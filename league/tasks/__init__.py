"""Tasks, the units of work that backends perform: a match of two members, or a learner's practice."""
