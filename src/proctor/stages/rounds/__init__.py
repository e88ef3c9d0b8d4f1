"""Rounds of a workspace: tasks out of its files, and what people said back into them. One module a kind."""
