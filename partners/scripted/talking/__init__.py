"""Partners that say something beside their acts, or believe what they are told."""
