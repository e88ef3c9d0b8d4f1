"""The metrics of this family, for the catalogue."""

from __future__ import annotations

from typing import Final

from proctor.metrics.choice.reading import PARSER
from proctor.metrics.metric import Metric

__all__ = ["METRICS"]


METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        name="choice_accuracy",
        label="Accuracy",
        family="answer",
        function="choice:choice_accuracy",
        signature=f"choice_accuracy|parser:{PARSER}|unparsed:wrong",
        range="0 to 1; chance 1/options",
        direction="higher",
        definition="Share of responses whose letter is the gold letter; responses without a letter are wrong.",
        citation="InstructionBench's supplement",
        traps="Leaving unparsed responses out rewards silence. Naive parsers read the T of 'The' and the A of "
        "'A good choice'. A question without any response failed; it is no unparsed one.",
    ),
    Metric(
        name="letter_balance",
        label="χ² letters",
        family="answer",
        function="choice:letter_balance",
        signature="letter_balance|test:pearson-uniform",
        range="0 to infinity; p 0 to 1",
        direction="neither",
        definition="Σ (count - n/k)² / (n/k) over k letters, p from χ² with k-1 degrees of freedom.",
        citation="Pearson 1900",
        traps="Unequal numbers of options need one table each. Predicted letters follow the golds: judge bias by "
        "recall_spread unless golds are balanced.",
    ),
    Metric(
        name="recall_spread",
        label="RStd",
        family="answer",
        function="choice:recall_spread",
        signature="recall_spread|deviation:population",
        range="0.5 to 0",
        direction="lower",
        definition="Standard deviation over letters of the accuracy on questions with that gold letter.",
        citation="Zheng et al. 2024",
        traps="Few questions per letter give spread by luck alone.",
    ),
    Metric(
        name="longest_option_right",
        label="longest right",
        family="answer",
        function="choice:option_tells",
        signature="longest_option_right|length:characters|ties:shared",
        range="0 to 1; no tell at 1/options",
        direction="neither",
        definition="Share of questions whose longest option is the right one, ties shared.",
        citation="InstructionBench's supplement",
        traps="Above chance, who reads no question scores above chance too.",
    ),
    Metric(
        name="blind_pass_probability",
        label="retry leak",
        family="answer",
        function="choice:blind_pass_probability",
        signature="blind_pass_probability|attempts:10|needed:2|voters:3",
        range="0 to 1",
        direction="lower",
        definition="1 - P(at least 2 of 3 blind voters right)^attempts.",
        citation="ours, on the voting of InstructionBench's supplement",
        traps="Ten attempts let 66.7 % of the questions pass that 80 % of blind voters answer: retries select luck.",
    ),
)
