"""Pictures of task graphs as accessible SVG: measured, placed, drawn with the statuses of a moment, and listed."""
