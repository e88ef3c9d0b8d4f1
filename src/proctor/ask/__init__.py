"""Examples to candidate questions with answers."""
