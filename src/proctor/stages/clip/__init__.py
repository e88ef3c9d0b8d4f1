"""InstructionBench's stages: clips, pairs, filters, options, answers, training set, report."""
