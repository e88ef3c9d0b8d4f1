"""The wire protocols that the stand-in speaks."""
