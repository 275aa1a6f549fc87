"""What runs inside a lab host before it is a host: its first process and its disk. Standard library only."""
