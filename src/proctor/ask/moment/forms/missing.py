"""Forms of ``missing`` questions."""

from __future__ import annotations

from typing import Final

from proctor.ask.moment.forms.form import Forms, choice, wh, yes_no

__all__ = ["FORMS"]

FORMS: Final[Forms] = {
    "missing.any": yes_no(
        "Did I forget anything?",
        "Have I skipped a step?",
        "Did I leave something out?",
        "Have I overlooked anything so far?",
        "Is anything missing from what I've done?",
        "Did I jump over a step?",
        "Was there a step that I should have done already?",
        "Is there a step behind me that I haven't done?",
        "Should I have done something else by now?",
        "Do I have to go back for anything?",
        "Did I fail to do something earlier?",
        "Have I neglected any of the earlier steps?",
        "I just {current_past}. Did I leave anything out up to here?",
        "I've {current_participle}. Have I forgotten any step so far?",
        "Did anything slip my mind up to now?",
    ),
    "missing.what": wh(
        "What did I forget?",
        "Which step have I left out?",
        "What should I have done already?",
        "What have I skipped so far?",
        "What is missing from what I've done?",
        "Which of the earlier steps did I not do?",
        "What do I have to go back and do?",
        "What did I overlook up to now?",
        "I just {current_past}. What have I left out so far?",
        "Which step should be behind me but isn't?",
        "What should have happened before now but didn't?",
    ),
    "missing.complete": yes_no(
        "Have I done everything I needed to do so far?",
        "Is everything that should be done by now done?",
        "Did I complete all the steps up to here?",
        "Am I on track, with nothing left out?",
        "Have I covered all the earlier steps?",
        "Did I do all that had to be done up to now?",
        "I just {current_past}. Have I done all the steps up to here?",
        "Is it okay to go on, with every earlier step done?",
        "Can I be sure that no step has been left out?",
        "Did I follow all the steps so far?",
    ),
    "missing.before_current": yes_no(
        "Should I have done anything else before {current_gerund}?",
        "Did I leave something out before {current_gerund}?",
        "Was there a step before {current_gerund} that I didn't do?",
        "Did something else have to be done before {current_gerund}?",
        "Is there anything I skipped that had to come before {current_gerund}?",
        "I just {current_past}. Was I missing a step before that?",
        "Have I overlooked a step that had to precede {current_gerund}?",
    ),
    "missing.ready_current": yes_no(
        "Had I done everything I needed to do before {current_gerund}?",
        "Was everything done that has to come before {current_gerund}?",
        "I just {current_past}. Were all the steps before that done?",
        "Were all the steps done that {current_gerund} depends on?",
    ),
    "missing.did": yes_no(
        "Did I forget to {step}?",
        "Have I skipped {gerund}?",
        "Did I miss the part about {gerund}?",
        "Is {gerund} something I left out?",
        "Have I overlooked {gerund}?",
        "Did it slip my mind to {step}?",
        "Could it be that I forgot to {step}?",
    ),
    "missing.already": yes_no(
        "Should I have {participle} by now?",
        "Was I supposed to {step} before now?",
        "Did I have to {step} before getting here?",
        "Was it necessary to {step} before this point?",
        "Ought I to have {participle} already?",
    ),
    "missing.choice": choice(
        "Which one did I forget: to {step} or to {other}?",
        "Did I leave out {gerund} or {other_gerund}?",
        "What have I skipped, {gerund} or {other_gerund}?",
        "One of these I haven't done yet: {gerund}, or {other_gerund}. Which one is it?",
    ),
    "missing.count": wh(
        "How many steps have I skipped so far?",
        "How many of the earlier steps did I leave out?",
        "How many steps do I have to go back for?",
        "What's the number of steps I've missed up to now?",
    ),
    "missing.add": yes_no(
        "Did I forget to add something?",
        "Is there anything I should have added already?",
        "Have I left out something that had to be added?",
        "Should anything else have been added by now?",
    ),
    "missing.cut": yes_no(
        "Did I forget to cut or peel something?",
        "Is there anything I should have chopped or peeled already?",
        "Have I left out any cutting or peeling?",
    ),
    "missing.heat": yes_no(
        "Did I forget to heat or cook something?",
        "Is there anything I should have cooked or heated already?",
        "Have I skipped a heating or cooking step?",
    ),
    "missing.attach": yes_no(
        "Did I forget to attach something?",
        "Is there a part I should have attached already?",
        "Have I left out a part that had to be fitted?",
    ),
    "missing.object": yes_no(
        "Did I forget to do something with the {object}?",
        "Did I miss a step that involves the {object}?",
        "Should I have done anything else with the {object} by now?",
        "Have I left out anything concerning the {object}?",
    ),
}
