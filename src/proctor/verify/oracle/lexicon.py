"""General English that the oracle knows: function words, talk about procedures, word families, units.

Nothing here names a recipe, a product or a sentence of any data set. The words are those that people use about
work with their hands in any domain (kitchen, bench, workshop); what is special to an activity comes from the
texts of its own task graph.
"""

from __future__ import annotations

from typing import Final

from proctor.procedure.inflect import word_set

__all__ = [
    "CONCEPTS",
    "CONTRACTIONS",
    "FUNCTION_WORDS",
    "IRREGULAR",
    "NUMBER_WORDS",
    "TALK_WORDS",
    "TOOL_WORDS",
    "UNITS",
    "UNIT_SCALE",
]


FUNCTION_WORDS: Final = word_set(
    """
    a an the this that these those it its they them their there here i me my mine we us our you your yours he she
    him her his and or but nor so if then than as at by for from in into of off on onto out over under up down to
    with within without about above below between through during until till while when where once before after
    since because although though be is am are was were been being do does did done doing have has had having will
    would shall should can could may might must ought not no yes yeah yep nope none never just only also too very
    quite rather really actually please okay ok well oh right now again already yet still even ever else more most
    some any each every both either neither other another such same own what which who whom whose how why all one
    get got getting go going goes gone let lets make makes made making sure like want wants
    """
)
"""Words without content of their own; they never identify a step."""

TALK_WORDS: Final = word_set(
    """
    step steps stage instruction instructions recipe procedure process task activity part thing things item items
    everything anything something nothing next first second last final later earlier early late previous previously
    current currently far point moment time order sequence track path plan miss missed missing forget forgot
    forgotten skip skipped overlook overlooked omit omitted need needs needed require required requires suppose
    supposed necessary should must finish finished finishing complete completed completing start started starting
    begin beginning continue continuing continued proceed proceeding ready correct correctly proper properly right
    rightly wrong wrongly fine good great perfect smoothly smooth mistake mistakes error errors problem problems
    issue issues accidentally improperly incorrect incorrectly exactly approximately about amount quantity enough
    much many few fewer less little long longer short shorter instead use used using usage perform performed
    performing action actions immediate immediately quickly remaining remain left rest ingredient ingredients
    component components material materials remember ensure check accurate way bit follow following followed
    strict choose different better actual actually important importantly careful carefully slightly recommended
    call calls calling twice too prepare prepares prepared preparing preparation preparations size sized small
    smaller large larger big bigger piece pieces whole handle handled work working together back several various come comes came coming happen happens happened respect
    switch almost nearly meant seem seems look looks looking appear appears unfortunately simply schedule job try trying
    stop
    think believe guess likely probably maybe perhaps apparently certainly definitely ahead recommend suggest advise
    advised best idea notice noticed noted see saw seen based according case video clip footage far
    finally lastly afterwards additional additionally further extra prior initially simple straight
    """
)
"""Words for talking about any procedure. They carry intent and polarity, not the identity of a step."""

TOOL_WORDS: Final = word_set(
    """
    fork spoon spatula knife knives scissors tongs ladle brush tool utensil screwdriver wrench spanner pliers hammer
    hand hands finger fingers glove gloves
    """
)
"""Words for what work is done with. A text that names one which no step holds may still mean the step."""

IRREGULAR: Final[dict[str, str]] = {
    "beaten": "beat", "bought": "buy", "broken": "break", "broke": "break", "brought": "bring", "built": "build",
    "chosen": "choose", "drawn": "draw", "drew": "draw", "felt": "feel", "filled": "fill", "froze": "freeze",
    "frozen": "freeze", "given": "give", "gave": "give", "ground": "grind", "held": "hold", "hung": "hang",
    "kept": "keep", "knelt": "kneel", "laid": "lay", "led": "lead", "left": "leave", "lit": "light",
    "melted": "melt", "poured": "pour", "put": "put", "ran": "run", "shaken": "shake", "shook": "shake",
    "sent": "send", "shut": "shut", "slid": "slide", "spilt": "spill", "split": "split", "spread": "spread",
    "stuck": "stick", "swept": "sweep", "taken": "take", "took": "take", "torn": "tear", "tore": "tear",
    "threw": "throw", "thrown": "throw", "tied": "tie", "tying": "tie", "dried": "dry", "dries": "dry",
    "wound": "wind", "woven": "weave", "written": "write", "leaves": "leaf", "knives": "knife",
    "halves": "half", "loaves": "loaf", "shelves": "shelf", "chilli": "chili", "colour": "color",
    "setting": "set", "dying": "die", "lying": "lie", "fed": "feed", "went": "go", "wrung": "wring",
    "bent": "bend", "bound": "bind", "cooled": "cool", "rolled": "roll", "sawn": "saw", "screwed": "screw",
}  # fmt: skip

CONCEPTS: Final[tuple[frozenset[str], ...]] = tuple(
    word_set(group)
    for group in (
        "chop cut slice dice mince trim carve halve quarter cube shred grate julienne",
        "mix mixture stir whisk beat blend combine blitz incorporate toss fold scramble agitate swirl recombine puree",
        "add put place pour transfer drop insert move include introduce splash sprinkle drizzle top spoon dump garnish season",
        "sprinkle season dust scatter garnish top",
        "grease coat spray lubricate",
        "spread coat smear brush cover apply distribute layer",
        "heat warm boil cook simmer fry saute microwave bake roast toast grill melt sear brown preheat",
        "microwave nuke zap",
        "push press insert slide feed thread stick",
        "cool chill refrigerate freeze rest",
        "remove discard drain take empty extract detach withdraw strip peel",
        "peel skin husk shell",
        "wash rinse clean wipe scrub",
        "dry pat blot towel",
        "dip soak immerse submerge dunk",
        "strain filter sieve sift drain",
        "wait rest stand sit leave pause bloom soak steep",
        "take get grab pick fetch bring collect gather retrieve",
        "measure weigh scoop portion",
        "crack break extract",
        "crush grind crack smash mash pound press mill",
        "roll wrap fold tuck",
        "flip turn rotate invert",
        "secure fasten fix attach clip tie pin tighten hold clamp fit",
        "loosen unscrew undo release detach unfasten disconnect",
        "connect attach join assemble mount install link plug couple",
        "screw bolt tighten fasten drive",
        "open unwrap unseal uncap",
        "close shut seal cover cap lid",
        "serve plate enjoy eat present garnish",
        "prepare ready assemble arrange lay set",
        "pan skillet frypan wok",
        "pot saucepan kettle",
        "bowl dish container vessel basin",
        "mug cup glass",
        "tsp teaspoon",
        "tbsp tablespoon",
        "knob pat piece chunk lump",
        "scallion onion",
        "vegetable veggie",
        "pepper seasoning salt spice herb",
        "medium moderate",
        "screwdriver driver wrench spanner tool",
        "spatula turner spoon fork utensil",
        "tube vial flask beaker",
        "solution liquid mixture batter blend content",
        "pipette dispense aspirate",
        "label mark tag",
    )
)  # fmt: skip
"""Families of words that people use for one another when they speak of a step. Membership is loose on purpose: it
only helps to recognise a step that is not named by its own words, and counts less than the same word."""

CONTRACTIONS: Final[tuple[tuple[str, str], ...]] = (
    ("won't", "will not"), ("can't", "can not"), ("cannot", "can not"), ("shan't", "shall not"),
    ("n't", " not"), ("'re", " are"), ("'ve", " have"), ("'ll", " will"), ("'m", " am"), ("let's", "let us"),
    ("what's", "what is"), ("that's", "that is"), ("there's", "there is"), ("it's", "it is"),
    ("everything's", "everything is"), ("where's", "where is"), ("who's", "who is"), ("how's", "how is"),
    ("he's", "he is"), ("she's", "she is"), ("'d", " had"),
)  # fmt: skip

NUMBER_WORDS: Final[dict[str, float]] = {
    "zero": 0.0, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "seven": 7.0,
    "eight": 8.0, "nine": 9.0, "ten": 10.0, "eleven": 11.0, "twelve": 12.0, "fifteen": 15.0, "twenty": 20.0,
    "thirty": 30.0, "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "ninety": 90.0, "hundred": 100.0, "half": 0.5,
    "quarter": 0.25, "third": 1 / 3, "dozen": 12.0, "single": 1.0, "couple": 2.0,
}  # fmt: skip

UNITS: Final[dict[str, str]] = {
    alias: unit
    for unit, aliases in {
        "tsp": "tsp teaspoon teaspoons tsps",
        "tbsp": "tbsp tablespoon tablespoons tbsps",
        "cup": "cup cups",
        "g": "g gram grams",
        "kg": "kg kilogram kilograms kilo kilos",
        "mg": "mg milligram milligrams",
        "ml": "ml milliliter milliliters millilitre millilitres",
        "ul": "ul μl microliter microliters microlitre microlitres",
        "l": "l liter liters litre litres",
        "oz": "oz ounce ounces",
        "lb": "lb lbs pound pounds",
        "s": "s sec secs second seconds",
        "min": "min mins minute minutes",
        "h": "h hr hrs hour hours",
        "in": "in inch inches",
        "cm": "cm centimeter centimeters centimetre centimetres",
        "mm": "mm millimeter millimeters millimetre millimetres",
        "deg": "degree degrees celsius fahrenheit c f",
        "percent": "percent",
    }.items()
    for alias in aliases.split()
}

UNIT_SCALE: Final[dict[str, tuple[str, float]]] = {
    "tbsp": ("tsp", 3.0), "min": ("s", 60.0), "h": ("s", 3_600.0), "kg": ("g", 1_000.0), "mg": ("g", 0.001),
    "l": ("ml", 1_000.0), "ul": ("ml", 0.001), "cm": ("mm", 10.0), "lb": ("oz", 16.0),
}  # fmt: skip
"""Unit to its base and how many of the base it is worth, so that 90 seconds are 1.5 minutes."""
