"""What one is told, or paid, to aim at: own points, more than the other, both together; and what that does to deals."""
