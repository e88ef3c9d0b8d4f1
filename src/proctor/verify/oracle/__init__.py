"""The task graph as an annotator; see docs/oracle.md."""

from proctor.verify.oracle.annotator import DEFAULT_THRESHOLD, Decision, Oracle
from proctor.verify.oracle.confidence import Calibration, load_calibration

__all__ = ["DEFAULT_THRESHOLD", "Calibration", "Decision", "Oracle", "load_calibration"]
