"""Steps of a manual put in order by what is learned of other manuals. Source: Wu et al. 2022 (arXiv 2110.08486)."""
