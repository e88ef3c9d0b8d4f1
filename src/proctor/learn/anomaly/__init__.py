"""Mistakes as what normal recordings never show: blocks that predict what they cannot see, and distances to the normal."""
