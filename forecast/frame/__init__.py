"""Tables: the door through which data enters, the calendar it lives on, and the arrays it becomes."""

from forecast.frame.calendar import Calendar
from forecast.frame.panel import Panel
from forecast.frame.schema import ID, TARGET, TIME, FrameError, Roles, as_panel, check_frame, check_rows

__all__ = ["ID", "TARGET", "TIME", "Calendar", "FrameError", "Panel", "Roles", "as_panel", "check_frame", "check_rows"]
