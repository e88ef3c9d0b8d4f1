"""Drawn videos of recordings, and cards in place of pictures: the same annotations give the same bytes."""
