"""The kinds of questions that come with the package, one module each."""
