"""The windows that a network is trained and validated on, watched batch by batch: where do their labels lie?"""

from typing import Any

from lightning.pytorch import Callback

from forecast.auditing.changes import changed
from forecast.auditing.subject import Subject, Verdict
from forecast.history import last_to_train
from forecast.windows import Batch


class Watch(Callback):
    """Keeps where labels that counted lie, as calendar ordinals: of training the last, of validation first and last."""

    def __init__(self, horizon: int):
        self.horizon = horizon
        self.windows = 0
        self.trained_to: int | None = None
        self.validated_from: int | None = None
        self.validated_to: int | None = None

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Batch, batch_idx: int) -> None:
        """Look at a batch of training."""
        del trainer, pl_module, batch_idx
        self.windows += len(batch.values)
        self.trained_to = _later(self.trained_to, self._last(batch))

    def on_validation_batch_start(
        self, trainer: Any, pl_module: Any, batch: Batch, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Look at a batch of validation."""
        del trainer, pl_module, batch_idx, dataloader_idx
        self.validated_to = _later(self.validated_to, self._last(batch))
        first = int(batch.cutoffs.min()) + 1
        self.validated_from = first if self.validated_from is None else min(first, self.validated_from)

    def _last(self, batch: Batch) -> int | None:
        """Give the latest label of a batch that counts."""
        counted = batch.counted[:, -self.horizon :] > 0  # (B, H)
        if not counted.any():
            return None
        rows, steps = counted.nonzero(as_tuple=True)
        return int((batch.cutoffs[rows] + steps + 1).max())


def _later(one: int | None, other: int | None) -> int | None:
    return max((ordinal for ordinal in (one, other) if ordinal is not None), default=None)


def labels_of(subject: Subject) -> Verdict:
    """Fit by the backtest at the first cutoff, and say where the labels of the windows lie."""
    watch, pattern = Watch(subject.horizon), subject.pattern
    trainer: dict[str, Any] = dict(pattern.get_params(deep=False).get("trainer") or {})
    given = trainer.get("callbacks") or []
    trainer["callbacks"] = [*(given if isinstance(given, list | tuple) else [given]), watch]
    subject.folds(cutoffs=subject.cutoffs[:1], pattern=subject.fresh(trainer=trainer))
    calendar = subject.panel.calendar
    cutoff = calendar.ordinal(subject.cutoffs[0])
    if watch.trained_to is None:
        return Verdict(False, "no window of training had a label that counts")
    embargo = int(getattr(pattern.get_params(deep=False)["training"], "embargo", 0) or 0)
    end = (cutoff if watch.validated_from is None else watch.validated_from - 1) - embargo
    told = f"labels of {watch.windows} training windows end at {calendar.stamp(watch.trained_to)}"
    if watch.trained_to > end:
        return Verdict(False, f"{told}, {watch.trained_to - end} steps after {calendar.stamp(end)}, where they have to")
    if watch.validated_from is None or watch.validated_to is None:
        return Verdict(True, f"{told}; none are held back for validation")
    told += f", those of validation lie from {calendar.stamp(watch.validated_from)} to "
    if watch.validated_to > cutoff:
        late = watch.validated_to - cutoff
        return Verdict(False, f"{told}{calendar.stamp(watch.validated_to)}, {late} steps after the cutoff")
    return Verdict(True, f"{told}{calendar.stamp(watch.validated_to)}")


def units_of(subject: Subject) -> Verdict:
    """Say whether rows that are held back for validation teach in which units and categories covariates are read."""
    fitted: Any = subject.fitted
    roles, first = subject.roles, subject.cutoffs[0]
    columns = [*roles.known, *roles.forecasted, *roles.past, *roles.delayed]
    length = fitted._rows(fitted.panel_).validation
    if not length or not columns:
        return Verdict(None, "")
    calendar = subject.panel.calendar
    known = subject.until(first)
    held = (known["ds"] > calendar.stamp(last_to_train(fitted.panel_, length))).to_numpy(dtype=bool)
    for how in ("plus 1e4", "constant"):  # of categories the latter is one that was never there
        other: Any = subject.fresh().fit(changed(known, held, columns, how), **subject.door)
        if other.encoding_ != fitted.encoding_:
            told = f"the last {length} steps, which are for validation, teach the units and categories of covariates"
            return Verdict(False, told)
    return Verdict(True, f"the {length} steps for validation teach no units and no categories of covariates")
