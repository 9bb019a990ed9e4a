"""The command line, the shell and the notebook's magics."""
