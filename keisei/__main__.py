"""`python -m keisei`: the command line, also for `torchrun -m keisei`."""

from keisei.cli import main

if __name__ == "__main__":
    main()
