"""What people do beside verification, in rounds: tasks of one kind that are given out in batches, each to so many people."""
