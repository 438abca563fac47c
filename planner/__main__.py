"""`python -m planner`: the command line without an installed script."""

from planner.cli import main

if __name__ == "__main__":
    main()
