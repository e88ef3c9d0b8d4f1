"""What an outsider runs on a release: predictors and judges."""
