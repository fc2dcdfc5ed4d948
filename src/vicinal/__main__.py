"""``python -m vicinal``: the command, also if the folder of programs is not on the search path."""

from vicinal.cli import main

if __name__ == "__main__":
    main()
