"""``python -m proctor``: the command line, where the console script is not on the path."""

from proctor.cli.main import main

if __name__ == "__main__":  # processes that multiprocessing starts import this module again
    main()
