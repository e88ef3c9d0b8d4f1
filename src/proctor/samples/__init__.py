"""The package's own hand-made sample activities."""
