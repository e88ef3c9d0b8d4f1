"""Multiple choice: reading the chosen letter out of a response, accuracy, and the tells of a set of options.

Conventions: options are lettered A, B, C, … in the order in which they were shown; letters are upper case in every
result. A response in which no letter can be read is *unparsed*: it counts as wrong, because the question was asked
and answered, and it is counted apart, because it says more about the form of the answers than about knowledge. A
question without a response is another matter: it *failed*, and the caller counts it.

References: InstructionBench (options, votes); the order of the rules is ours; Zheng et al. 2024 (selection bias).
"""
