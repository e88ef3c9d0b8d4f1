"""Sensors of the recorder, one module for each kind (entry points ``proctor.sensors``)."""
