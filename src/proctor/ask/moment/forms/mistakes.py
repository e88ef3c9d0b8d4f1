"""Forms of questions about a mistake in the step just done: preparation, measurement, timing, technique, temperature.

Intents: ``wrong`` expects yes, ``right`` expects no, ``what`` asks which mistake, ``should`` asks for the right way,
``more`` and ``less`` ask for the direction, ``fix`` for the remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from proctor.ask.moment.forms.form import Style

__all__ = ["FORMS"]

FORMS: Final[Mapping[str, tuple[Style, tuple[str, ...]]]] = {
    "measurement.wrong": (
        "yesno",
        (
            "Did I get an amount wrong?",
            "Is there something off with the amount here?",
            "Did I make a measuring mistake in this step?",
            "Have I measured something wrongly?",
            "Is there a problem with my measurements?",
            "Did I slip up with a quantity just now?",
            "Should the quantity have been different?",
            "Was my measuring off in the last step?",
            "Was there an error in how I measured things while {current_gerund}?",
            "Is the amount of {object} wrong?",
        ),
    ),
    "measurement.right": (
        "yesno",
        (
            "Did I measure that correctly?",
            "Are my quantities correct here?",
            "Was the amount in the last step okay?",
            "Did I stick to the stated measurement?",
            "Does my measurement match the instructions?",
            "Were my measurements accurate in this step?",
            "Is the quantity I went with fine?",
            "Did I keep to the given amounts while {current_gerund}?",
            "Is that the correct amount of {object}?",
            "Did I get the amount of {object} right?",
        ),
    ),
    "measurement.what": (
        "wh",
        (
            "What's wrong with the amount here?",
            "What did I get wrong about the measurement?",
            "Where is my measuring mistake?",
            "How is my quantity off in this step?",
            "In what way did I mismeasure?",
            "What is off about how I measured this?",
        ),
    ),
    "measurement.should": (
        "wh",
        (
            "How much should it have been?",
            "What amount should I have gone with?",
            "Which measurement do the instructions ask for in this step?",
            "What would the correct quantity have been?",
            "How much {object} was I supposed to have?",
            "What is the right amount of {object}?",
        ),
    ),
    "measurement.more": (
        "yesno",
        (
            "Is that too much?",
            "Did I go over the stated amount?",
            "Did I take more than I should have?",
            "Was my quantity too large?",
        ),
    ),
    "measurement.less": (
        "yesno",
        (
            "Is that too little?",
            "Did I stay below the stated amount?",
            "Did I take less than I should have?",
            "Was my quantity too small?",
        ),
    ),
    "measurement.fix": (
        "wh",
        (
            "The amount isn't right. What do I do now?",
            "How can I correct the amount?",
            "What can I do about the wrong quantity?",
            "How do I make up for my measuring mistake?",
        ),
    ),
    "timing.wrong": (
        "yesno",
        (
            "Did I get the timing wrong?",
            "Is there something off with my timing here?",
            "Did I make a timing mistake in this step?",
            "Was my timing off just now?",
            "Is there a problem with the timing of the last step?",
            "Should I have timed this differently?",
            "Did I misjudge the timing of this step?",
            "Have I slipped up with the timing?",
            "Was there a timing error while I was {current_gerund}?",
            "Did I go wrong with the timing when {current_gerund}?",
        ),
    ),
    "timing.right": (
        "yesno",
        (
            "Was my timing okay?",
            "Did I time this step correctly?",
            "Is the timing of what I just did fine?",
            "Did I stick to the timing in the instructions?",
            "Does my timing match what the instructions say?",
            "Did I time that well?",
            "Was the last step timed as it should be?",
            "Was my timing right when {current_gerund}?",
            "Did I get the timing of {current_gerund} right?",
        ),
    ),
    "timing.what": (
        "wh",
        (
            "What's wrong with my timing?",
            "What did I get wrong about the timing of this step?",
            "How was my timing off?",
            "Where is my timing mistake?",
            "In what way did I mistime this?",
            "What was the matter with my timing when {current_gerund}?",
        ),
    ),
    "timing.should": (
        "wh",
        (
            "How long should it have been?",
            "How long was this step supposed to take?",
            "What duration do the instructions give for this step?",
            "What would the right time have been?",
            "For how long should I have been {current_gerund}?",
            "How long does {current_gerund} have to take?",
        ),
    ),
    "timing.more": (
        "yesno",
        (
            "Was that too long?",
            "Did I take longer than I should have?",
            "Should I have stopped sooner?",
            "Did I go past the stated time?",
            "Was I {current_gerund} for too long?",
        ),
    ),
    "timing.less": (
        "yesno",
        (
            "Was that too short?",
            "Did I stop too soon?",
            "Should it have gone on for longer?",
            "Did I stay under the stated time?",
            "Should I have kept {current_gerund} for longer?",
        ),
    ),
    "timing.fix": (
        "wh",
        (
            "The time wasn't right. What do I do now?",
            "How can I correct my timing mistake?",
            "What can I do about the wrong timing?",
            "How do I make up for getting the time wrong?",
        ),
    ),
    "temperature.wrong": (
        "yesno",
        (
            "Did I get the temperature wrong?",
            "Is there something off with the temperature here?",
            "Did I make a temperature mistake in this step?",
            "Is there a problem with how hot or cold this was?",
            "Should the temperature have been different?",
            "Have I slipped up with the temperature?",
            "Was the temperature off in the last step?",
            "Did I misjudge how hot this should be?",
            "Was there a temperature mistake when I was {current_gerund}?",
            "Did I pick the wrong {setting}?",
            "Should I have gone with a different {setting}?",
        ),
    ),
    "temperature.right": (
        "yesno",
        (
            "Was the temperature okay?",
            "Did I get the temperature right?",
            "Is the temperature as it should be?",
            "Does the temperature match the instructions?",
            "Was the temperature of the last step correct?",
            "Did I keep to the temperature that was asked for?",
            "Was the temperature right when I was {current_gerund}?",
            "Did I do this step at the proper temperature?",
            "Is this the right {setting}?",
            "Did I go with the correct {setting}?",
        ),
    ),
    "temperature.what": (
        "wh",
        (
            "What's wrong with the temperature?",
            "What did I get wrong about the temperature in this step?",
            "How was the temperature off?",
            "Where is my temperature mistake?",
            "In what way was the temperature wrong?",
            "What's the matter with my {setting}?",
        ),
    ),
    "temperature.should": (
        "wh",
        (
            "What temperature should it have been?",
            "How hot or cold was this supposed to be?",
            "Which temperature do the instructions call for?",
            "Which {setting} should I have picked?",
            "What would the correct {setting} have been?",
        ),
    ),
    "temperature.more": (
        "yesno",
        (
            "Is that too hot?",
            "Was the {setting} too high?",
            "Did I go for too much heat?",
            "Should I have gone with less heat?",
        ),
    ),
    "temperature.less": (
        "yesno",
        (
            "Is that not hot enough?",
            "Was the {setting} too low?",
            "Did I go for too little heat?",
            "Should I have gone with more heat?",
        ),
    ),
    "temperature.fix": (
        "wh",
        (
            "The temperature isn't right. What do I do now?",
            "How can I correct the temperature?",
            "What can I do about the wrong temperature?",
        ),
    ),
    "preparation.wrong": (
        "yesno",
        (
            "Did I make a mistake in how I prepared this?",
            "Is something wrong with what I worked with here?",
            "Did I prepare this step wrongly?",
            "Was there a preparation mistake in the last step?",
            "Is there a problem with how I set this step up?",
            "Did I take something I shouldn't have?",
            "Have I slipped up in preparing this?",
            "Should I have prepared this differently?",
            "Is there anything wrong with the way this step was prepared?",
            "Did I get something wrong when {current_gerund}?",
            "I just {current_past}. Did I get anything wrong there?",
        ),
    ),
    "preparation.right": (
        "yesno",
        (
            "Did I prepare this the right way?",
            "Is my preparation okay?",
            "Did I work with the right things in this step?",
            "Was everything I took for this step correct?",
            "Does my preparation match the instructions?",
            "Was the last step prepared as it should be?",
            "Did I set this up properly?",
            "Was everything right in how I went about {current_gerund}?",
            "Was I well prepared for {current_gerund}?",
            "Is everything okay with how I prepared things?",
        ),
    ),
    "preparation.what": (
        "wh",
        (
            "What's wrong with how I prepared this?",
            "What did I get wrong in the preparation?",
            "Where is my preparation mistake?",
            "What should have been different about this step?",
            "In what way did I prepare this wrongly?",
            "What went wrong when I was {current_gerund}?",
        ),
    ),
    "preparation.should": (
        "wh",
        (
            "What do the instructions ask for in this step?",
            "How was this step meant to be prepared?",
            "What would have been the right way to prepare this?",
            "How should I have prepared this?",
        ),
    ),
    "preparation.instead": (
        "wh",
        (
            "What should I have taken instead?",
            "What would have been the right thing to go with?",
            "Which thing should I have picked for this step?",
            "What was I supposed to work with here?",
        ),
    ),
    "preparation.fix": (
        "wh",
        (
            "I prepared this wrongly. What do I do now?",
            "How can I put my preparation mistake right?",
            "What can I do about the mistake in my preparation?",
        ),
    ),
    "technique.wrong": (
        "yesno",
        (
            "Did I do that the wrong way?",
            "Is there something off with my technique?",
            "Did I make a mistake in how I did this?",
            "Was there a technique mistake in the last step?",
            "Have I gone about this wrongly?",
            "Is there a problem with the way I did that?",
            "Did I handle this step badly?",
            "Should I have done this in another way?",
            "Is anything wrong with the way I {current_past}?",
            "Did I slip up while {current_gerund}?",
            "I just {current_past}. Did anything go wrong?",
        ),
    ),
    "technique.right": (
        "yesno",
        (
            "Did I do that properly?",
            "Is my technique okay?",
            "Was the way I did this correct?",
            "Did I carry out the last step as I should?",
            "Does the way I did this match the instructions?",
            "Did I handle that well?",
            "Was the step done cleanly and correctly?",
            "Did I go about {current_gerund} the right way?",
            "Is the way I {current_past} fine?",
            "Did I {current_brief} properly?",
        ),
    ),
    "technique.what": (
        "wh",
        (
            "What's wrong with the way I did this?",
            "What did I get wrong in my technique?",
            "Where is the mistake in how I did that?",
            "What should I have paid more attention to in this step?",
            "In what way was my technique off?",
            "What went wrong while I was {current_gerund}?",
        ),
    ),
    "technique.should": (
        "wh",
        (
            "How should I have done this instead?",
            "How is this step meant to be done?",
            "What would have been the right way to do this?",
            "What's the proper way of doing this step?",
        ),
    ),
    "technique.fix": (
        "wh",
        (
            "I did this step badly. What do I do now?",
            "How can I put right what I just did?",
            "What can I do about the mistake in how I did this?",
        ),
    ),
}
