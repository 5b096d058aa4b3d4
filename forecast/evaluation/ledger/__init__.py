"""The ledger: every forecast of a backtest with what came true, as arrays, as tables, in a folder."""

from forecast.evaluation.ledger.points import ENDED, FILLED, MISSING, OBSERVED, STATUS, Points, Run
from forecast.evaluation.ledger.record import Ledger, check

__all__ = ["ENDED", "FILLED", "MISSING", "OBSERVED", "STATUS", "Ledger", "Points", "Run", "check"]
