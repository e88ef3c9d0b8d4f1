"""Pure scoring functions on plain values, with signatures."""
