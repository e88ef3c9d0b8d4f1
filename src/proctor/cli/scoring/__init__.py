"""The commands ``proctor metrics FAMILY``, one module per family."""
