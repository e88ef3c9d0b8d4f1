"""Readers: one module per public data set, raw files to procedure values."""
