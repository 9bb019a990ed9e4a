"""This machine: its Java, a local session, kernels compiled ahead, Ctrl-C, executors that are lost."""
