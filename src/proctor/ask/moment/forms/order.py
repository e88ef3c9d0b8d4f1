"""Forms of ``order`` questions."""

from __future__ import annotations

from typing import Final

from proctor.ask.moment.forms.form import Forms, wh, yes_no

__all__ = ["FORMS"]

FORMS: Final[Forms] = {
    "order.wrong": yes_no(
        "Did I mix up the order?",
        "Is something wrong with the order of what I did?",
        "Did I do this step out of order?",
        "Have I got the sequence wrong here?",
        "Was this the wrong moment for that step?",
        "Did I do that at the wrong point?",
        "Is there a problem with when I did this step?",
        "Was it a mistake to do this step now?",
        "Was it wrong to do the step I just did at this point?",
        "I just {current_past}. Was that out of turn?",
        "Was it a mistake to move on to {current_gerund} at this point?",
    ),
    "order.right": yes_no(
        "Am I following the right order?",
        "Was that the right moment for this step?",
        "Is the order I'm doing things in correct?",
        "Did I do this step at the right point?",
        "Was it fine to do this step now?",
        "Is my sequence of steps okay?",
        "Did the step I just did come at the proper time?",
        "Am I doing things in the order they should be done?",
        "I just {current_past}. Was it time for that?",
        "Was this the right point for {current_gerund}?",
        "Is {current_gerund} what I should have been doing at this point?",
    ),
    "order.early": yes_no(
        "Did I do this too early?",
        "Was it too soon for this step?",
        "Did I get ahead of myself?",
        "Should I have waited with this step?",
        "Does this step belong further down the line?",
        "Was {current_gerund} a bit premature?",
        "Was it too early for {current_gerund}?",
        "Should I have held off on {current_gerund}?",
    ),
    "order.late": yes_no(
        "Did I do this too late?",
        "Should I have done this step sooner?",
        "Does this step belong further up in the sequence?",
        "Was I late with this step?",
        "Was {current_gerund} overdue?",
        "Should {current_gerund} have come sooner?",
    ),
    "order.what": wh(
        "What's wrong with the order I'm doing things in?",
        "What have I mixed up in the sequence?",
        "Why is this step out of order?",
        "What is the problem with the timing of this step in the sequence?",
        "Where did I go wrong with the order?",
        "Why wasn't it right to do this step at this point?",
        "Why was it wrong to move on to {current_gerund}?",
    ),
    "order.before": wh(
        "What should I have done before this step?",
        "What had to come before the step I just did?",
        "Which step did this one have to wait for?",
        "What should have been finished before I did this?",
        "Which step should I have put before this one?",
        "What did I need to do ahead of {current_gerund}?",
        "What should have come before {current_gerund}?",
    ),
    "order.after": wh(
        "Before which step should I have done this?",
        "Which of the earlier steps should this one have come before?",
        "What should have waited until I had done this step?",
        "Which step did I do too soon, before this one?",
        "What should have waited for {current_gerund}?",
    ),
    "order.should": yes_no(
        "Should I have {participle} before this step?",
        "Did I have to {step} before doing this?",
        "Was I supposed to {step} first?",
        "Does {gerund} have to come before what I just did?",
        "Was {gerund} meant to come first?",
        "Should {gerund} have come before {current_gerund}?",
    ),
    "order.fix": wh(
        "How can I put the order right?",
        "What should I do about the order now?",
        "I did this at the wrong point. What do I do now?",
        "How do I recover from doing this step out of order?",
        "What's the best way to get back to the right sequence?",
    ),
}
