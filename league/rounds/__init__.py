"""The league's loop: plan a round, play it, commit it; who meets whom, who is admitted, when a stage ends."""
