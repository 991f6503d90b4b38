"""The benchmark: a submission plays a roster under one protocol and becomes one line of a results file."""
