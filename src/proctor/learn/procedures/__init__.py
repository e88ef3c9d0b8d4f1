"""Procedures found in videos without labels: frames embedded, clustered, and matched to key steps (docs/procedure-learning.md)."""
