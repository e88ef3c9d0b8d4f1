"""Questions about instructional videos from their step annotations (InstructionBench)."""
