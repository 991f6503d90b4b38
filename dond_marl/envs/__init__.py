"""The game for other libraries: PettingZoo and Gymnasium environments, their spaces, views and features."""
