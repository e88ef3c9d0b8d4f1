"""The commands ``proctor score FAMILY``, one module per family."""
