"""Words of instructions and what they look like: verbs → actions, objects → drawings, manners → styles.

Only what the synthetic recordings need to look right; an unknown word is drawn as a box with its name on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from proctor_rehearsal.drawing.scene import Action

__all__ = [
    "DO_NOT_NAME",
    "LIQUIDS",
    "MANY",
    "NUMBERS",
    "OBJECTS",
    "PARTS",
    "PRODUCTS",
    "STYLES",
    "VERBS",
    "VESSEL_OF",
]


def _each(**groups: str) -> dict[str, str]:
    return {word: name for name, words in groups.items() for word in words.split()}


_VERBS: Final = _each(
    pour="pour fill transfer drizzle rinse",
    put="put place add set insert lay drop load sprinkle spread attach clip mount assemble connect hang coat season",
    cut="cut slice chop dice peel mince trim split halve",
    tear="tear rip break crack",
    stir="stir mix whisk beat blend combine toss",
    turn="screw tighten turn rotate twist fasten unscrew loosen",
    press="press push squeeze knead roll fold flatten",
    wait="wait leave steep rest cool cook boil heat microwave simmer bake preheat",
    write="write label mark draw",
    dip="dip soak dunk immerse",
    switch="switch plug start",
    read="read check measure inspect look compare",
    take="take remove discard pick",
)
VERBS: Final = cast("dict[str, Action]", _VERBS)

OBJECTS: Final[dict[str, str]] = _each(
    teapot="teapot",
    kettle="kettle",
    jug="jug pitcher carafe",
    cup="cup mug ramekin",
    beaker="beaker glass tumbler",
    bowl="bowl",
    dish="dish plate tray saucer",
    tube="tube vial flask",
    pot="pot saucepan",
    pan="pan skillet griddle wok",
    jar="jar can tin",
    bottle="bottle",
    spoon="spoon teaspoon teaspoons tsp tablespoon tablespoons tbsp",
    knife="knife",
    scissors="scissors",
    hexkey="key wrench spanner screwdriver",
    pen="pen pencil marker",
    fork="fork whisk spatula tongs",
    funnel="filter funnel sieve strainer",
    teabag="bag bags teabag teabags",
    lemon="lemon lime orange",
    slice="slice slices wedge wedges",
    cube="cube cubes ice",
    heap="sugar salt pepper flour powder spice cumin oregano paprika cinnamon cocoa",
    leaf="leaf leaves lettuce spinach basil parsley cilantro",
    pieces="piece pieces chunks",
    paper="paper sheet foil towel label",
    strip="strip strips",
    rack="rack grid",
    heater="heater radiator stove oven microwave",
    base="base stand",
    pole="pole rod stick skewer leg",
    arm="arm",
    shade="shade",
    socket="socket",
    ring="ring washer",
    cable="cable wire cord",
    bulb="bulb",
    joint="joint hinge",
    lamp="lamp light",
    screw="screw screws bolt bolts nail",
    gear="gear gears wheel wheels cog",
    board="board",
    surface="table desk counter worktop floor ground",
    egg="egg eggs",
    round="tomato tomatoes onion onions potato garlic clove cloves mushroom mushrooms meatball avocado",
    flat="tortilla bread muffin toast bun pizza pancake cheese",
    box="box lid cover",
)
LIQUIDS: Final[dict[str, tuple[int, int, int]]] = {
    "water": (139, 196, 232),
    "tea": (150, 66, 14),
    "weak tea": (222, 158, 60),
    "vinegar": (236, 226, 158),
    "milk": (246, 244, 236),
    "oil": (232, 190, 60),
    "juice": (246, 160, 50),
    "coffee": (92, 58, 36),
    "sauce": (178, 62, 40),
    "honey": (224, 150, 30),
    "purple": (122, 62, 150),
    "weak purple": (184, 164, 214),
    "liquid": (139, 196, 232),
    "mixture": (214, 180, 140),
    "batter": (238, 214, 160),
}
VESSEL_OF: Final = {
    "water": "kettle",
    "tea": "teapot",
    "coffee": "jug",
    "mixture": "bowl",
    "batter": "bowl",
    "liquid": "beaker",
}
MANY: Final = frozenset({"box", "heap", "round", "flat", "bottle", "jar", "leaf"})
"""Drawings that stand for several things: told apart by name."""
PARTS: Final = frozenset(
    {"base", "pole", "arm", "shade", "socket", "ring", "cable", "bulb", "screw", "gear", "joint"}
)
"""Drawings of things of which there is one, and which stay where they are fixed."""
PRODUCTS: Final = {"leaf": "pieces", "paper": "strip", "lemon": "slice", "round": "slice"}
"""What cutting makes of a thing."""
STYLES: Final = _each(
    crooked="crookedly crooked tilted askew angle",
    flipped="upside inverted",
    half="half halfway partly",
    coarse="thick thickly large coarse coarsely roughly wedges chunks",
    fine="thin thinly fine finely small",
    dropped="dropping drop dropped fell falls spilling",
    click="click clicks",
    reverse="unscrew loosen remove",
    hot="hot boiling boiled",
    warm="warm lukewarm tepid",
    cold="cold chilled icy",
)
NUMBERS: Final = {
    "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "seven": 7.0, "eight": 8.0,
    "nine": 9.0, "ten": 10.0, "twice": 2.0, "once": 1.0,
}  # fmt: skip
_PLAIN: Final = """
the a an of its it them this that some more all each every word off up down out and or then dry fresh clean until
hole side felt half colour color other rest turns turn time times gently slowly ml l g kg cl oz second seconds
minute minutes
"""
DO_NOT_NAME: Final = frozenset(_PLAIN.split()) | frozenset(NUMBERS)
