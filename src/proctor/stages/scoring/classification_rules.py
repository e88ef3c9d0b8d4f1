"""Options of the scores of mistakes, and how scores become decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from proctor.errors import UserError
from proctor.metrics.aggregation import Aggregation, Repeated
from proctor.metrics.classification import Options
from proctor.metrics.thresholds import ChosenThreshold, choose_threshold, rescale_min_max
from proctor.stages.scoring.files import explained
from proctor.stages.scoring.recognition import Level, Samples

__all__ = [
    "LEVEL_NAMES",
    "PROTOCOLS",
    "Protocol",
    "Rule",
    "Settings",
    "chosen_rule",
    "rescaled",
    "rule_of_part",
]


Protocol = Literal["corrected", "published"]
PROTOCOLS: Final[tuple[Protocol, ...]] = get_args(Protocol)
LEVEL_NAMES: Final[Mapping[Level, str]] = {"step": "steps", "sub-step": "sub-steps"}


@dataclass(frozen=True)
class Rule:
    """How scores become decisions: a number, and the words for the signature."""

    threshold: float
    words: str


@dataclass(frozen=True)
class Settings:
    """How samples are made and scored, and intervals drawn."""

    aggregate: Aggregation
    protocol: Protocol
    repeated: Repeated
    threshold: float | None
    confidence: float
    resamples: int
    seed: int

    def options(self, samples: Samples, **parts: str) -> Options:
        """Return what the metrics take beside their arrays."""
        words = {"level": samples.level, "protocol": self.protocol, **parts}
        if samples.level == "step":
            words |= {"aggregation": self.aggregate, "repeated": self.repeated}
        return {
            "clusters": samples.recordings if self.resamples else None,
            "confidence": self.confidence,
            "resamples": self.resamples,
            "seed": self.seed,
            "settings": words,
        }


def rescaled(samples: Samples, settings: Settings) -> Samples:
    """Rescale the scores over the whole test set, as published; corrected scores stay."""
    if settings.protocol == "corrected" or samples.scores is None:
        return samples
    kinds = {kind: rescale_min_max(values) for kind, values in samples.kind_scores.items()}
    return replace(samples, scores=rescale_min_max(samples.scores), kind_scores=kinds)


def rule_of_part(samples: Samples, validation: Samples | None, settings: Settings) -> Rule | None:
    """Choose the threshold: by the validation data, as given, or 0.5."""
    if samples.scores is None:
        return None
    if validation is not None:
        if validation.scores is None:
            raise UserError("the validation predictions have no scores.", where="--validation")
        with explained("--validation"):
            return chosen_rule(choose_threshold(validation.labels, validation.scores))
    if settings.threshold is None:
        return Rule(0.5, "default=0.5")
    kind = "rescaled" if settings.protocol == "published" else "fixed"
    return Rule(settings.threshold, f"{kind}={settings.threshold:g}")


def chosen_rule(found: ChosenThreshold) -> Rule:
    """The rule of a threshold that was chosen on validation data."""
    return Rule(found.value, f"validation-f1={found.value:.6g}")
