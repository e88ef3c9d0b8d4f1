"""The captioner's role: a sentence that depends on the picture and the activity alone, since it is told nothing else."""

from __future__ import annotations

from proctor.exam.mishap import as_sentence
from proctor.procedure.phrase import parse_phrase
from proctor_rehearsal.players.files import Now
from proctor_rehearsal.players.reading import Asked
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.call import draw

__all__ = ["play_captioner"]

_SCENES = (
    "A person stands at the counter and is {deed}. Two bowls can be seen.",
    "Somebody is {deed}; the hands cover part of the picture.",
    "The person is {deed}, it seems. A cup and a spoon lie beside it.",
)


def play_captioner(asked: Asked, now: Now, seed: int) -> Answer:
    """Describe a picture: the same for the same picture, size and activity, whoever asks."""
    activity = asked.blocks.get("activity", "")
    picture = next((m for m in asked.call.media if m.kind == "image"), None)
    named = (seed, activity, picture.sha256, picture.width, picture.height) if picture else (seed, activity)
    graph = now.graph_named.get(activity)
    deed = "working with something on the table"
    if graph is not None:
        steps = graph.actions
        deed = parse_phrase(steps[int(draw("step", *named) * len(steps))].text).gerund
    scene = _SCENES[int(draw("scene", *named) * len(_SCENES))]
    return Answer(text=as_sentence(scene.format(deed=deed)))
