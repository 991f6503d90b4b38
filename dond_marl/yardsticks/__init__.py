"""What a game could have paid: solution points, best responses, beliefs and values, exact or bounded."""
