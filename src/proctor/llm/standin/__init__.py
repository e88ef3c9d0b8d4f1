"""A real HTTP server that plays the providers of models, for tests, benchmarks and trying things out without a key."""

from proctor.llm.standin.answer import Answer
from proctor.llm.standin.call import Call
from proctor.llm.standin.player import Known, Player
from proctor.llm.standin.script import Fault, Latency, Match, Rule, Script, load_script, parse_script
from proctor.llm.standin.server import Standin

__all__ = [
    "Answer",
    "Call",
    "Fault",
    "Known",
    "Latency",
    "Match",
    "Player",
    "Rule",
    "Script",
    "Standin",
    "load_script",
    "parse_script",
]
