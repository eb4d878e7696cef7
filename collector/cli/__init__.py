"""The command line: `main.py` finds the command, one module has each."""
