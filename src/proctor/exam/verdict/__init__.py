"""From what a judge model wrote to a verdict, or to *unscored* with the reason (docs/evaluate.md)."""

from proctor.exam.verdict.reading import Scale, UnscoredReason, VerdictReading, maximum
from proctor.exam.verdict.reply import read_verdict

__all__ = ["Scale", "UnscoredReason", "VerdictReading", "maximum", "read_verdict"]
