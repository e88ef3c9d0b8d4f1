"""Views of the pages of tasks: one module a kind of ``proctor.verify.rounds``."""
