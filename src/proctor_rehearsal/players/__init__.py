"""The rehearsal: the stand-in server plays every model of an experiment with a chosen quality, driven by the task graphs.

Nothing is left out but the models themselves: the prompts are the real ones, the calls are real HTTP, the stages do not know.
What each role knows, and how it errs, is said in its module; docs of the numbers are in the modules' constants.
"""

from proctor_rehearsal.players.marks import write_marks
from proctor_rehearsal.players.player import Rehearsal, parse_quality, rehearse

__all__ = ["Rehearsal", "parse_quality", "rehearse", "write_marks"]
