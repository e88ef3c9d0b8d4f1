"""Forms of ``next`` questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from proctor.ask.moment.forms.form import Style

__all__ = ["FORMS"]

FORMS: Final[Mapping[str, tuple[Style, tuple[str, ...]]]] = {
    # anything that may follow
    "next.what": (
        "wh",
        (
            "What should I do next?",
            "What comes next?",
            "Which step is up now?",
            "What do I have to do now?",
            "What can I do at this point?",
            "How do I continue from here?",
            "Where do I go from here?",
            "What am I supposed to do now?",
            "Which step can I take on now?",
            "What would be a good thing to do now?",
            "What's my next move?",
            "Could you remind me how to go on from here?",
            "What do the instructions want me to do now?",
            "I'm through with this part. What follows?",
            "What should I be working on now?",
            "I just {current_past}. What now?",
            "What follows after {current_gerund}?",
            "I've {current_participle}. Which step can I do now?",
            "Now that I've {current_participle}, what should I do?",
            "What do I do after {current_gerund}?",
            "I'm finished with {current_gerund}. What's the next thing to do?",
        ),
    ),
    "next.start": (
        "wh",
        (
            "Where do I start?",
            "What is the first thing I should do?",
            "How do I begin?",
            "Which step can I start with?",
            "What should I do to get started?",
            "What do I need to do first?",
            "What's the very first step?",
            "With what can I begin?",
            "Nothing is done yet. What do I do?",
            "Which step could I do before all the others?",
        ),
    ),
    "next.left": (
        "yesno",
        (
            "Is there anything left to do?",
            "Is there still something I have to do?",
            "Do I need to do anything else?",
            "Is anything still open?",
            "Does anything else need to be done?",
            "Is there more to do from here?",
            "Are there any steps remaining?",
            "Is there anything more for me to do after {current_gerund}?",
            "I've {current_participle}. Is anything left?",
            "Do I still have work to do once I've {current_participle}?",
        ),
    ),
    "next.done": (
        "yesno",
        (
            "Am I done?",
            "Is that everything?",
            "Have I finished the whole thing?",
            "Can I call it finished now?",
            "Is this complete?",
            "Have I come to the end of the instructions?",
            "Did I get through all the steps?",
            "Can I stop here?",
            "Now that I've {current_participle}, am I finished?",
            "Was {current_gerund} the last thing to do?",
        ),
    ),
    # one particular step
    "next.should": (
        "yesno",
        (
            "Should I {step} now?",
            "Is it time to {step}?",
            "Can I {step} now?",
            "May I {step} at this point?",
            "Would it be right to {step} now?",
            "Am I supposed to {step} now?",
            "I'm about to {step}. Is that right?",
            "Is now the time to {step}?",
            "I'd like to {step} now. Is that okay?",
            "Would you {step} at this point?",
            "Is it okay to {step} right now?",
            "After {current_gerund}, can I {step}?",
            "I just {current_past}. Should I {step} now?",
        ),
    ),
    "next.choice": (
        "choice",
        (
            "Should I {step} or {other} now?",
            "What do I do now, {step} or {other}?",
            "Which one can I do at this point: {step} or {other}?",
            "Do I {step} now, or do I {other}?",
            "Is it time to {step} or to {other}?",
            "I'm not sure whether to {step} or to {other} now. Which is it?",
        ),
    ),
    "next.either": (
        "yesno",
        (
            "Does it matter whether I {step} or {other} first?",
            "Do I have to {step} before I {other}?",
            "Is there a fixed order between {gerund} and {other_gerund}?",
            "I could {step} or {other}. Does one of them have to come first?",
            "Must {gerund} come before {other_gerund}?",
        ),
    ),
    "next.without": (
        "yesno",
        (
            "Can I go on without {gerund}?",
            "Is it fine to carry on without {gerund}?",
            "Could I simply leave out {gerund}?",
            "May I move on although I didn't {step}?",
            "I didn't {step}. Can I just continue?",
            "Is it okay that I haven't {participle} so far?",
        ),
    ),
    # a group of steps
    "next.add": (
        "wh",
        (
            "What should I add now?",
            "Which things can I add at this point?",
            "What is the next thing for me to add?",
            "What do I have to add next?",
        ),
    ),
    "next.cut": (
        "wh",
        (
            "What should I cut up now?",
            "What do I have to cut or peel next?",
            "Is there something for me to chop or peel now, and what is it?",
            "What's next for my knife?",
        ),
    ),
    "next.attach": (
        "wh",
        (
            "What should I attach now?",
            "Which part do I attach next?",
            "What has to be fitted next?",
            "Which part can I put on now?",
        ),
    ),
    "next.any_add": (
        "yesno",
        (
            "Is there anything I should add now?",
            "Do I have to add something at this point?",
            "Is there something to be added right now?",
            "Should I be adding something now?",
        ),
    ),
    "next.any_cut": (
        "yesno",
        (
            "Is there anything I should cut or peel now?",
            "Do I have to cut something up at this point?",
            "Should I be chopping something now?",
            "Is there anything for me to chop right now?",
        ),
    ),
    "next.any_heat": (
        "yesno",
        (
            "Is there anything I should heat or cook now?",
            "Do I have to cook or warm up something at this point?",
            "Should I be heating something now?",
            "Is it time for me to cook anything?",
        ),
    ),
    "next.any_attach": (
        "yesno",
        (
            "Is there anything I should attach now?",
            "Do I have to fit another part at this point?",
            "Should I be attaching something now?",
        ),
    ),
    "next.object": (
        "wh",
        (
            "What should I do with the {object} now?",
            "What happens to the {object} now?",
            "What comes next for the {object}?",
            "How do I go on with the {object}?",
        ),
    ),
    "next.any_object": (
        "yesno",
        (
            "Is there anything to do with the {object} now?",
            "Is it time to do something with the {object}?",
            "Should I be doing something with the {object} at this point?",
            "Does anything have to happen to the {object} now?",
        ),
    ),
}
