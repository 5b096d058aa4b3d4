"""The error of the door, and how values are told in its messages."""

import numpy as np


class FrameError(ValueError):
    """A frame that may not enter; the message names the column, the first series and stamp, and the remedy."""


def plain(value):
    """Give a numpy scalar as the Python value that it prints as."""
    return value.item() if isinstance(value, np.generic) else value
