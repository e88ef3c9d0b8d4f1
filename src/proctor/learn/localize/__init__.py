"""Steps in time: which step happens when in a whole recording. Source: CaptainCook4D (Peddi et al. 2024), Section 4.2."""
