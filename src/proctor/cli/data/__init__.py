"""The commands ``proctor datasets …``, one module each."""
