"""A real HTTP server that plays the providers of models, for tests, benchmarks and trying things out without a key."""

from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.call import Call
from proctor_rehearsal.standin.script import Fault, Latency, Match, Rule, Script, load_script, parse_script
from proctor_rehearsal.standin.server import Standin

__all__ = [
    "Answer",
    "Call",
    "Fault",
    "Latency",
    "Match",
    "Rule",
    "Script",
    "Standin",
    "load_script",
    "parse_script",
]
