"""Numbers as the report prints them: with a true minus sign, and a dash where there is none."""

import pandas as pd


def percent(value: float, sign: str = "+") -> str:
    """A share in percent with one decimal; `sign` as in a format: "+" tells plus too, "" only minus."""
    if pd.isna(value):
        return "–"
    if abs(value) < 0.0005:
        value, sign = 0.0, ""
    return f"{100 * value:{sign}.1f}\N{NO-BREAK SPACE}%".replace("-", "−")


def number(value: float, digits: int) -> str:
    """A number with so many decimals, thousands apart."""
    return "–" if pd.isna(value) else f"{value:,.{digits}f}".replace("-", "−")


def short(value: float) -> str:
    """Three digits are enough for a cost: 0.012, 4.56, 78.9, 1,234."""
    if pd.isna(value):
        return "–"
    if 0 < value < 0.001:
        return "< 0.001"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:,.{digits}f}"
