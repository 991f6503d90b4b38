"""What a seat may be told: hinters stand on the contracts of :mod:`dond_marl.seats`."""
