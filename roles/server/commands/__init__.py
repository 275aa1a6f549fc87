"""What each command of tasks.py prints, and the exit code it ends with: a module a command, each with `run`."""
