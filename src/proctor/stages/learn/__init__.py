"""The commands of ``proctor learn`` and ``proctor features``, one function each."""
