"""Pages of HTML that need nothing but themselves: a template of this folder, in the one style that all share."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def page(template: str, **values: Any) -> str:
    """Give a page; a value that the template asks for has to be there."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(values)
