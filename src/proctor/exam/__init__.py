"""The exam: questions about anything, who answers them, and who marks the answers."""
