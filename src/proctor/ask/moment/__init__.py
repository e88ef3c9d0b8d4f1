"""Recordings to questionable moments: deterministic facts, no model."""
