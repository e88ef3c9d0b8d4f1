"""From what a judge model wrote to a verdict, or to *unscored* with the reason (docs/evaluate.md)."""
