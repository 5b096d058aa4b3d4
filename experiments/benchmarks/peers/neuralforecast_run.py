"""neuralforecast: LSTM, TCN and PatchTST, as its README fits them."""

from typing import ClassVar

from peer import Peer, measure


class NeuralForecastPeer(Peer):
    """A model of neuralforecast; the context is given, since PatchTST has none of its own."""

    library = "neuralforecast"
    models: ClassVar = {"lstm": "LSTM", "tcn": "TCN", "transformer": "PatchTST"}

    def _load(self) -> None:
        from neuralforecast import NeuralForecast, models
        from pytorch_lightning import Callback

        self.door, self.kind, self.callback = NeuralForecast, getattr(models, self.model), Callback

    def _fit(self, task) -> None:
        steps = {} if self.asked.steps is None else {"max_steps": self.asked.steps}
        model = self.kind(
            h=task.horizon,
            input_size=task.context,
            random_seed=self.asked.seed + 1,
            **steps,
            callbacks=[self.watch(self.callback)],
            logger=False,
            enable_progress_bar=False,
        )
        self.fitted = self.door(models=[model], freq="h")
        self.fitted.fit(task.train, val_size=0)
        self.parameters = sum(weights.numel() for weights in self.fitted.models[0].parameters())

    def _forecast(self, task, every):
        from tasks import Forecasts

        table = self.fitted.cross_validation(
            task.frame, n_windows=None, test_size=task.test_rows, step_size=every, use_fitted=True
        )
        table = table.sort_values(["unique_id", "cutoff", "ds"])
        values = table[self.model].to_numpy("float64").reshape(-1, task.horizon)  # (W, H)
        return Forecasts(values, values)


if __name__ == "__main__":
    measure(NeuralForecastPeer)
