"""Candidates to verdicts, by people and by the task graph."""
