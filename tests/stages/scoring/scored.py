"""Families of scores as functions: the files in their order, options as keywords."""

from proctor.stages.scoring import score_family, settings_of


def family(name, *files):
    """Return the function that scores with a family; ``files`` are the fields of its words."""

    def score(*words, **options):
        given = dict(zip(files, words, strict=False)) | options
        plain = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
        return score_family(name, settings_of(name)(**plain))

    return score
