"""The core: procedures, task graphs, recordings and progress. Pure standard library."""
