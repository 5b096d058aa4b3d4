"""Tables: the door through which data enters, the calendar it lives on, and the arrays it becomes."""

from forecast.frame.calendar import Calendar
from forecast.frame.form import Form
from forecast.frame.panel import Panel
from forecast.frame.schema import ID, TARGET, TIME, FrameError, Roles, as_panel, check_frame, check_rows
from forecast.frame.wide import from_wide

__all__ = [
    "ID",
    "TARGET",
    "TIME",
    "Calendar",
    "Form",
    "FrameError",
    "Panel",
    "Roles",
    "as_panel",
    "check_frame",
    "check_rows",
    "from_wide",
]
