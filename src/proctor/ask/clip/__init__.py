"""Questions about clips of annotated videos, from their steps (InstructionBench)."""
