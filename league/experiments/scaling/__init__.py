"""A simulation of larger clusters from measured task costs."""
