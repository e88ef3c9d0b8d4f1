"""Argument parsing only; one module per stage."""
