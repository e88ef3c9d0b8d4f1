"""Embedders, and the cache of their vectors."""
