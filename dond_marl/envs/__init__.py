"""The game for other libraries: PettingZoo, Gymnasium, OpenSpiel and NegMAS, with spaces, views and features."""
