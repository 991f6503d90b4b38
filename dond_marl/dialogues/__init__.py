"""What people said in the published dialogues, read as acts, and what they got."""
