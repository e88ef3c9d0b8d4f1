"""English words as instructions use them: forms of verbs, and nouns with their plurals.

Regular spelling rules, a table of irregular verbs and a list of verbs that occur in instructions (kitchen, workshop,
laboratory). A word that is not listed is still inflected by rule; the list only decides whether a word *is* a verb
when nothing else in the sentence says so.

The lists decide two things only: whether a bare noun lacks its article ("used bowl"), and whether a number and its
noun agree ("2 strawberry"). A word in neither list is left as it is: nothing is guessed.
"""

from __future__ import annotations

from functools import cache
from typing import Final

__all__ = [
    "COUNTED",
    "DETERMINERS",
    "FOODS",
    "UNCOUNTED",
    "UNITS",
    "VERBS",
    "base_form",
    "gerund",
    "participle",
    "past",
    "plural",
    "singular",
    "word_list",
    "word_set",
]


def word_list(text: str) -> tuple[str, ...]:
    """Return the words of a text, in order."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


VERBS: Final[frozenset[str]] = word_set("""
    add adjust agitate align allow apply arrange aspirate assemble attach bake balance baste beat begin bend blanch
    blast blend blitz blot boil bolt bore bottle break bring broil brown brush buff build bundle butter calibrate cap
    carry carve center centrifuge change charge check chill chop clamp clean clear clip close coat collect combine
    connect continue cook cool core cover crack create crease crimp cross crumble crush cube cut cure decant defrost
    deglaze degrease detach dice dilute dip discard disconnect dispense dissolve distribute divide do double drain
    draw dredge dress drill drip drizzle drop dry dust elute empty engage enter ensure evaporate examine extend extract
    fasten feed fetch file fill filter find finish fit fix flatten flip flour fluff flush fold follow freeze frost fry
    garnish gather get give glaze glue grab grasp grate grease grill grind grip guide hammer hang harvest heat hold
    hook hull incubate inject insert inspect install invert join juice keep knead label lather lay leave let level
    lift light line load lock loosen lower lubricate make marinate mark mash massage match measure melt microwave mill
    mince mix moisten mount move nail neutralize note oil open paint pan pare pass paste pat peel pick pierce pin pinch
    pipe pipette pit place plate plug poach polish pop position pound pour preheat prepare press prick prime print
    process pull pulse pump punch puree purge push put quench raise reach read reassemble record reduce refill
    refrigerate reheat release relieve remove repeat replace reset resuspend retrieve return reverse rinse rivet roast
    roll rotate rub run sand saute save saw scale scatter scoop score scrape scratch screw scrub seal sear season seat
    secure seed select separate serve set sew shake shape sharpen shave shell shift shred shut sieve sift simmer sit
    skewer skim skin slather slice slide slip slit smash smear smooth snap snip soak soften solder sonicate sort spill spin
    spiralize splash split spoon spray spread sprinkle squeeze stack staple start steam steep sterilize stick stir stop
    store straighten strain stretch strike strip stuff submerge suspend swap sweep swirl switch take tap tape taste
    tear tenderize test thaw thicken thin thread throw tie tighten tilt titrate toast top toss touch trace transfer
    trim truss tuck turn twist unbox unclip uncover unfold unlock unpack unplug unroll unscrew unwrap unzip use vortex
    wait warm wash watch weigh weld wet wheel whip whisk widen wind wipe wrap write zest zip
    dispose design drink eat ladle layer operate organize organise regulate wear wire knit prune plant water dig weed
    vacuum mop create attach detach replace number sip blow drive ensure hand heap help pack scrub shovel serve solve
    """)

_THREE_FORMS: Final = """
    beat beat beaten, become became become, begin began begun, bend bent bent, break broke broken,
    bring brought brought, build built built, cut cut cut, blow blew blown, dig dug dug, come came come,
    drink drank drunk, drive drove driven, eat ate eaten, do did done, draw drew drawn, fall fell fallen,
    feed fed fed, forget forgot forgotten, find found found, freeze froze frozen, get got got,
    give gave given, go went gone, grind ground ground, hang hung hung, have had had, hold held held,
    keep kept kept, lay laid laid, leave left left, let let let, lie lay lain, light lit lit,
    make made made, overcook overcooked overcooked, pay paid paid, put put put, read read read,
    rise rose risen, run ran run, saute sauteed sauteed, saw sawed sawn, set set set, sew sewed sewn,
    shake shook shaken, shut shut shut, sit sat sat, slide slid slid, slit slit slit, spin spun spun,
    split split split, spread spread spread, stand stood stood, stick stuck stuck, strike struck struck,
    sweep swept swept, take took taken, tear tore torn, throw threw thrown, wear wore worn, wet wet wet,
    wind wound wound, write wrote written
    """
_IRREGULAR_VERBS: Final = {
    verb: (past, participle)
    for verb, past, participle in (forms.split() for forms in _THREE_FORMS.split(","))
}

_DOUBLING: Final[frozenset[str]] = frozenset(
    {"transfer", "submit", "commit", "refer", "unplug", "unzip", "unwrap"}
)
_VOWELS = "aeiou"


def gerund(verb: str) -> str:
    """Return the -ing form: ``"peel"`` → ``"peeling"``, ``"slice"`` → ``"slicing"``, ``"chop"`` → ``"chopping"``."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye", "saute")) and len(verb) > 2:
        return verb[:-1] + "ing"
    return _doubled(verb) + "ing"


def past(verb: str) -> str:
    """Return the simple past: ``"take"`` → ``"took"``."""
    return _IRREGULAR_VERBS[verb][0] if verb in _IRREGULAR_VERBS else _regular_past(verb)


def participle(verb: str) -> str:
    """Return the past participle: ``"take"`` → ``"taken"``."""
    return _IRREGULAR_VERBS[verb][1] if verb in _IRREGULAR_VERBS else _regular_past(verb)


def base_form(word: str) -> str:
    """Return the listed verb that the word is a form of, or ``""``: ``"kneads"`` → ``"knead"``."""
    return _forms().get(word.lower(), "")


def _regular_past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and len(verb) > 1 and verb[-2] not in _VOWELS:
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


def _doubled(verb: str) -> str:
    """Double the last consonant where English does: one short vowel before it and the stress on it."""
    if verb in _DOUBLING:
        return verb + verb[-1]
    if len(verb) < 3 or verb[-1] in _VOWELS + "wxyhqj" or verb[-2] not in _VOWELS:
        return verb
    vowel_groups = sum(1 for a, b in zip(" " + verb, verb, strict=False) if b in _VOWELS and a not in _VOWELS)
    single = verb[-3] not in _VOWELS or (verb[-3:-1] == "ui" and verb[-4:-3] == "q")
    return verb + verb[-1] if vowel_groups == 1 and single else verb


def _third_person(verb: str) -> str:
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ies"
    return verb + "s"


@cache
def _forms() -> dict[str, str]:
    """Every form of every listed verb; where two verbs share a form, a base form wins over an inflected one."""
    table: dict[str, str] = {}
    for verb in sorted(VERBS):
        for form in (gerund(verb), past(verb), participle(verb), _third_person(verb)):
            table.setdefault(form, verb)
    return table | {verb: verb for verb in VERBS}


# -- nouns of kitchens, workshops and laboratories: which are counted, which are not, and their plurals ------------


COUNTED: Final = word_set("""
    bag basket battery beaker bench bin blade blender board bolt bottle bowl box bracket brush bucket bulb burner
    button cable can cap caddy chisel clamp clip clock cloth colander computer container cooker corner counter
    countertop cover cup cupboard cutter cylinder dish dripper drill dropper fan file finger flask fork fridge funnel
    gasket grater grinder hammer handle hook hose instrument jack jar jug kettle key knife knob ladle lamp lever lid
    liner machine magnet mallet microwave mixer mould mug nail needle nozzle nut oven package packet paddle pan peeler
    pen pencil pin pipe pipette plate platter plug pole pot puddle pump ramekin ring rod roller ruler saucepan saucer
    saw scale scissor scoop screw screwdriver shade shaker shovel sieve sink skewer skillet socket spanner spatula
    spoon stick stove strainer strap strip surface switch tablespoon table tap teaspoon thermometer timer toaster tool
    toothpick torch towel tray tripod tube tyre utensil valve vial washer wheel whisk whisker wok wrench
    margin hole lump chunk   circle square layer dollop cone floret pair
    mortar filter edge boundary stem mixture amount quantity motion
    """)
"""Singular nouns of things that are counted: without an article, number or possessive they are no English."""

FOODS: Final = word_set("""
    almond apple avocado baguette banana bean carrot clove cucumber cupcake egg leaf lemon lime meatball muffin
    mushroom omelette onion orange pancake peach pear potato scallion shallot strawberry tomato tortilla zucchini
    chilli
    """)
"""Foods that are one thing or an ingredient; after "use" and "instead of" they take an article, elsewhere either is fine."""

UNCOUNTED: Final = word_set("""
    air bacon baking basil batter bread butter cheese chocolate cilantro cinnamon coffee corn cornstarch cream cumin
    curd flour floss foil frosting garlic glue grease heat honey jelly ketchup lettuce mayonnaise milk mozzarella mustard
    oil oregano paper parmesan pasta pepper powder rice salsa salt sauce skin soap soda spray starch sugar syrup tape tea
    tofu tuna turmeric vinegar water yogurt yoghurt
    """)
"""Nouns of stuff, which take no "a"."""

UNITS: Final[dict[str, str]] = {
    "tsp": "tsp", "tbsp": "tbsp", "oz": "oz", "g": "g", "kg": "kg", "mg": "mg", "ml": "ml", "cm": "cm", "mm": "mm",
    "min": "min", "sec": "sec", "teaspoon": "teaspoons", "tablespoon": "tablespoons", "cup": "cups",
    "ounce": "ounces", "gram": "grams", "pound": "pounds", "pinch": "pinches", "inch": "inches", "second": "seconds",
    "minute": "minutes", "hour": "hours", "degree": "degrees", "liter": "liters", "litre": "litres",
    "spoonful": "spoonfuls", "piece": "pieces", "turn": "turns", "time": "times", "drop": "drops", "half": "halves",
    "bunch": "bunches", "slice": "slices", "cube": "cubes", "wedge": "wedges",
}  # fmt: skip
"""Units and measures with their plurals; abbreviations have none."""

DETERMINERS: Final = word_set(
    "a an the this that these those my your our his her its their one no any some each every another both "
    "either all half enough other same much"
)

_IRREGULAR: Final = {"leaf": "leaves", "knife": "knives", "half": "halves", "scissor": "scissors"}
_ONE: Final = {many: one for one, many in (*UNITS.items(), *_IRREGULAR.items()) if one != many}


def plural(noun: str) -> str:
    """Return the plural: ``"strawberry"`` → ``"strawberries"``, ``"tbsp"`` → ``"tbsp"``."""
    low = noun.lower()
    if low in UNITS or low in _IRREGULAR:
        return UNITS.get(low) or _IRREGULAR[low]
    if low.endswith("y") and low[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    if low.endswith(("s", "x", "z", "ch", "sh", "potato", "tomato")):
        return f"{noun}es"
    return f"{noun}s"


def singular(noun: str) -> str:
    """Return the singular of a listed noun's plural, the noun itself when it is a listed singular, else ``""``."""
    low = noun.lower()
    if low in _ONE:
        return _ONE[low]
    for one in (low, low.removesuffix("s"), low.removesuffix("es"), f"{low.removesuffix('ies')}y"):
        if one in UNITS or one in COUNTED or one in FOODS:
            return one
    return ""
