"""A kitchen with simulated sensors and a simulated participant: ``proctor capture simulate`` and ``residuals``, sensors ``sim.*``."""
