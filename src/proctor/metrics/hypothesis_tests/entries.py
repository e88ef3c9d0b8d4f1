"""The metrics of this family, for the catalogue."""

from __future__ import annotations

from proctor.metrics.metric import Metric

__all__ = ["METRICS"]


METRICS: tuple[Metric, ...] = (
    Metric(
        name="mcnemar",
        label="McNemar p",
        family="significance",
        function="hypothesis_tests:mcnemar",
        signature="mcnemar|p:exact|sided:two",
        range="0 to 1",
        direction="neither",
        definition="p = min(1, 2·Σ_{k≤min(b,c)} C(b+c,k)/2^(b+c)) for b and c items that only one system got right.",
        citation="McNemar 1947; mid-p: Fagerland, Lydersen and Laake 2013",
        traps="Items are taken as independent: for several questions a recording use sign_flip. Overlapping "
        "intervals of two systems say nothing about a paired difference (WikiHow 197/300 and 177/300).",
    ),
    Metric(
        name="sign_flip",
        label="sign-flip p",
        family="significance",
        function="hypothesis_tests:sign_flip_test",
        signature="sign_flip|cluster:given|p:monte-carlo|resamples:10000|seed:0|sided:two",
        range="0 to 1",
        direction="neither",
        definition="Share of sign patterns of the clusters' summed differences whose sum is at least as far from 0.",
        citation="Fisher 1935; Pitman 1937; Phipson and Smyth 2010",
        traps="Fewer than six clusters that differ can never reach 0.05. Exact up to 30 clusters, drawn beyond.",
    ),
    Metric(
        name="permutation",
        label="permutation p",
        family="significance",
        function="hypothesis_tests:permutation_test",
        signature="permutation|p:monte-carlo|resamples:10000|seed:0|sided:two|statistic:mean-difference",
        range="0 to 1",
        direction="neither",
        definition="Share of splits of the pooled marks into groups of these sizes whose means differ at least as much.",
        citation="Pitman 1937; Phipson and Smyth 2010",
        traps="For different items in both groups. The same items belong into the paired sign-flip test.",
    ),
    Metric(
        name="mann_whitney",
        label="Mann-Whitney p",
        family="significance",
        function="hypothesis_tests:mann_whitney",
        signature="mann_whitney|method:asymptotic|sided:two",
        range="0 to 1",
        direction="neither",
        definition="U = pairs in which a is rated higher, ties half; normal with tie and continuity correction, exact "
        "without ties when a group has at most eight ratings.",
        citation="Mann and Whitney 1947; used by SMMQG (fluency)",
        traps="With and without continuity correction differ (0.038 and 0.033 on 8 against 8 ratings). SMMQG prints "
        "only mean fluency (4.53, 3.68), so its p-value cannot be checked.",
    ),
    Metric(
        name="fisher_exact",
        label="Fisher p",
        family="significance",
        function="hypothesis_tests:fisher_exact",
        signature="fisher_exact|sided:two",
        range="0 to 1",
        direction="neither",
        definition="Sum of the hypergeometric probabilities of all tables at most as likely as the observed one.",
        citation="Fisher 1935; used by SMMQG (tables 4 and 15)",
        traps="SMMQG table 4: none of four p-values follows from 300 against 120 (relevance is 0.025, printed 0.07); "
        "table 15: seven of eight do (multi-hop style is 0.36, printed 0.44).",
    ),
    Metric(
        name="chi_square",
        label="χ² p",
        family="significance",
        function="hypothesis_tests:chi_square",
        signature="chi_square|df:4|expected:uniform",
        range="0 to 1",
        direction="neither",
        definition="χ² = Σ (count - expected)² / expected, against χ² with one degree of freedom less than categories.",
        citation="Pearson 1900; answer letters of InstructionBench",
        traps="Rough below an expected count of five. Letters that were balanced on purpose fit too well: p near 1.",
    ),
    Metric(
        name="holm",
        label="p (Holm)",
        family="significance",
        function="hypothesis_tests:holm",
        signature="holm|tests:28",
        range="0 to 1",
        direction="neither",
        definition="The i-th smallest of m p-values times m-i+1, made monotone: bounds the chance of any false alarm.",
        citation="Holm 1979",
        traps="Correct over all pairs that were looked at, not over those that are reported.",
    ),
    Metric(
        name="benjamini_hochberg",
        label="p (BH)",
        family="significance",
        function="hypothesis_tests:benjamini_hochberg",
        signature="benjamini_hochberg|tests:28",
        range="0 to 1",
        direction="neither",
        definition="The i-th smallest of m p-values times m/i, made monotone: bounds the expected share of false alarms.",
        citation="Benjamini and Hochberg 1995",
        traps="Bounds the share among the alarms, not the chance of one; needs independent or positively dependent tests.",
    ),
)
