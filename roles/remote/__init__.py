"""Hosts by SSH: connect, ask the on-host program, stream frames, put a file. The only door to Fabric and Paramiko."""

from roles.remote.begun import begin, reach, warm
from roles.remote.fleet import Outcome, each
from roles.remote.follower import Follower
from roles.remote.frames import Frame
from roles.remote.remote import Remote

__all__ = ["Follower", "Frame", "Outcome", "Remote", "begin", "each", "reach", "warm"]
