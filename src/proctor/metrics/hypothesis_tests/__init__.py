"""Tests of a difference: p-values that say what they assume, how they were found and why one may be missing.

Conventions: the reference comes first, a difference is ``b - a``, every p-value is two-sided. Marks are numbers in
any unit; yes/no marks are booleans or 0 and 1. A p-value is *undefined* (None, with a note) when nothing was observed;
it is 1, with a note, when nothing differs. Monte-Carlo p-values count the observed arrangement as one more draw, so
that they are never 0 (Phipson and Smyth 2010). The order of the inputs never changes a result.

Which test: the same items marked twice, yes/no: ``mcnemar``; the same items, any marks, or items in clusters:
``sign_flip_test``; different items: ``permutation_test`` (means), ``mann_whitney`` (ratings on a scale),
``fisher_exact`` (yes/no); systems ranked by two benchmarks: ``rank_concurrence``; counts of categories: ``chi_square``.
Many tests at once: ``holm`` (no false alarm at all) or ``benjamini_hochberg`` (few among the alarms).

References: McNemar (1947); Fagerland, Lydersen and Laake (2013) for mid-p; Fisher (1935) and Pitman (1937) for
permutation; Mann and Whitney (1947); Kendall (1945) for tau-b; Holm (1979); Benjamini and Hochberg (1995); Phipson
and Smyth (2010).
"""

from __future__ import annotations

from proctor.metrics.hypothesis_tests.corrections import benjamini_hochberg, holm
from proctor.metrics.hypothesis_tests.entries import METRICS
from proctor.metrics.hypothesis_tests.groups import MannWhitneyMethod, mann_whitney, permutation_test
from proctor.metrics.hypothesis_tests.paired import (
    discordant_counts,
    mcnemar,
    sign_flip_intervals,
    sign_flip_test,
    sign_flip_tests,
)
from proctor.metrics.hypothesis_tests.results import PValue
from proctor.metrics.hypothesis_tests.tables import chi_square, fisher_exact

__all__ = [
    "METRICS",
    "MannWhitneyMethod",
    "PValue",
    "benjamini_hochberg",
    "chi_square",
    "discordant_counts",
    "fisher_exact",
    "holm",
    "mann_whitney",
    "mcnemar",
    "permutation_test",
    "sign_flip_intervals",
    "sign_flip_test",
    "sign_flip_tests",
]
