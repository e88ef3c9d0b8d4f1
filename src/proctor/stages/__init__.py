"""What each command does, as a function on a workspace: the command line and programs are equals.

Every function reads the files of the stage before it, writes its own, writes down in ``stages.json`` what it did
and returns the numbers of its closing line as plain values::

    from proctor.stages.read import read
    from proctor.stages.derive import derive

    read("plain", Path("my-recordings"), Path("bench"))
    derive(Path("bench"))
"""
