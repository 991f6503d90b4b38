"""A neural network that sits in a seat, and the files that its weights are kept in."""
