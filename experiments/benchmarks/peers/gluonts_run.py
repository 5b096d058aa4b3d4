"""gluonts: DeepAR, WaveNet and PatchTST of its torch part."""

from typing import ClassVar

from peer import Peer, measure


class GluonTSPeer(Peer):
    """An estimator of gluonts; the context is given, patches are as in the paper of PatchTST."""

    library = "gluonts"
    models: ClassVar = {"lstm": "DeepAREstimator", "tcn": "WaveNetEstimator", "transformer": "PatchTSTEstimator"}
    every: ClassVar = {"DeepAREstimator": 24, "WaveNetEstimator": 348}

    def _load(self) -> None:
        from gluonts.dataset.pandas import PandasDataset
        from gluonts.dataset.split import split
        from gluonts.torch import DeepAREstimator, PatchTSTEstimator
        from gluonts.torch.model.wavenet import WaveNetEstimator
        from lightning.pytorch import Callback, seed_everything

        kinds = (DeepAREstimator, WaveNetEstimator, PatchTSTEstimator)
        self.kind = next(kind for kind in kinds if kind.__name__ == self.model)
        self.table, self.split, self.callback, self.seed = PandasDataset, split, Callback, seed_everything

    def _fit(self, task) -> None:
        self.seed(self.asked.seed)
        # An epoch is 50 steps and there are 100 of them by default; `max_steps` ends training within one.
        steps = {} if self.asked.steps is None else {"max_steps": self.asked.steps, "max_epochs": -1}
        trainer = {
            "max_epochs": 100,
            **steps,
            "callbacks": [self.watch(self.callback)],
            "logger": False,
            "enable_progress_bar": False,
        }
        needed = {
            "DeepAREstimator": {"freq": "h", "context_length": task.context},
            "WaveNetEstimator": {"freq": "h", "negative_data": bool((task.train["y"] < 0).any())},
            "PatchTSTEstimator": {"patch_len": 16, "context_length": task.context},
        }
        estimator = self.kind(prediction_length=task.horizon, trainer_kwargs=trainer, **needed[self.model])
        self.fitted = estimator.train(self._series(task.train))
        self.parameters = sum(weights.numel() for weights in self.fitted.prediction_net.parameters())

    def _forecast(self, task, every):
        import numpy as np
        from tasks import Forecasts

        _, ahead = self.split(self._series(task.frame), offset=-task.test_rows)
        windows = ahead.generate_instances(task.horizon, windows=len(task.origins(every)), distance=every)
        forecasts = list(self.fitted.predict(windows.input))
        means, medians = (
            np.stack([pick(one) for one in forecasts]) for pick in (lambda one: one.mean, lambda one: one.quantile(0.5))
        )  # (W, H)
        return Forecasts(means, medians)

    def _series(self, frame):
        frame = frame.astype({"y": "float32"})  # PatchTST does not train on float64
        return self.table.from_long_dataframe(frame, item_id="unique_id", timestamp="ds", target="y", freq="h")


if __name__ == "__main__":
    measure(GluonTSPeer)
