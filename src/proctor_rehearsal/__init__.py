"""Rehearsals of Proctor: models, people's marks and videos played on this machine, without keys and without cost.

``proctor`` never imports this package: it finds it by the entry points ``proctor.rehearsal`` and ``proctor.commands``.
``standin`` is the server that speaks the providers' protocols, ``players`` says what it replies about a workspace,
``drawing`` draws videos and pictures in place of those that are not at hand.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proctor.stages.rehearsing import Rehearser
    from proctor_rehearsal import rehearsal

    _: Rehearser = rehearsal  # what the entry point brings
