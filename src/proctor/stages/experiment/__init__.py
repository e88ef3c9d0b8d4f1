"""The whole experiment in one go: stages with settings, plans of them, one conductor, cells side by side."""
