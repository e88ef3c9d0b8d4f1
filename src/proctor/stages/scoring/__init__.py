"""Scores from files, one module per family of metrics: what ``proctor score FAMILY`` runs."""
