"""A kind from outside that forgot how to ask: its module cannot be loaded."""

from proctor.exam.kind import Kind


class Unfinished(Kind):
    """It has a name and nothing else."""

    name = "unfinished"


KIND = Unfinished()
