"""What only people can say about a data set, for the formats that have a card: checked, nothing invented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from proctor.errors import UserError

__all__ = ["ABOUT_KEYS", "RAI_KEYS", "check_about"]

ABOUT_KEYS: Final = {
    "name": "short name of the data set",
    "description": "one paragraph",
    "license": "SPDX identifier or address of the licence",
    "url": "where the data set lives",
    "version": "of the data, for example 1.0.0",
    "datePublished": "YYYY-MM-DD",
    "citeAs": "how to cite it, BibTeX or text",
    "creator": "person or organisation",
    "language": "ISO 639 code of the texts",
}
"""Keys of the description and what they mean; the names are Croissant's (schema.org's)."""

RAI_KEYS: Final = (
    "rai:dataCollection",
    "rai:dataAnnotationProtocol",
    "rai:annotationsPerItem",
    "rai:annotatorDemographics",
    "rai:dataBiases",
    "rai:dataLimitations",
    "rai:personalSensitiveInformation",
    "rai:dataUseCases",
    "rai:dataSocialImpact",
    "rai:hasSyntheticData",
)
"""Further keys: Croissant's vocabulary for responsible AI."""

_MAX: Final = 100_000


def check_about(about: Mapping[str, object] | None) -> dict[str, str]:
    """Return the description with a name.

    Raises:
        UserError: for an unknown key, or a value that is no text.
    """
    found: dict[str, str] = {"name": "recordings"}
    known = (*ABOUT_KEYS, *RAI_KEYS)
    for key, value in (about or {}).items():
        if key not in known:
            raise UserError(
                f"'{str(key)[:80]}' is no key of a description.", hint=f"known: {', '.join(known)}"
            )
        if not isinstance(value, str) or len(value) > _MAX:
            raise UserError(f"the description's '{key}' must be a text of at most {_MAX:,} characters.")
        found[key] = value
    return found
