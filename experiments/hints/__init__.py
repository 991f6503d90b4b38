"""The hint experiment: what a whispered act is worth to a learner."""
