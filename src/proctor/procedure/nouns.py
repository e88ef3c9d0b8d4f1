"""Nouns of kitchens, workshops and laboratories: which are counted, which are not, and their plurals.

The lists decide two things only: whether a bare noun lacks its article ("used bowl"), and whether a number and its
noun agree ("2 strawberry"). A word in neither list is left as it is: nothing is guessed.
"""

from __future__ import annotations

from typing import Final

__all__ = ["COUNTED", "DETERMINERS", "FOODS", "UNCOUNTED", "UNITS", "plural", "singular", "word_set"]


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


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
