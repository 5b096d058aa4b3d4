"""darts: BlockRNNModel, TCNModel and TransformerModel behind a Scaler, as its examples fit them."""

from typing import ClassVar

from peer import Peer, measure


class DartsPeer(Peer):
    """A model of darts; the context is given, since all of them ask for one."""

    library = "darts"
    models: ClassVar = {"lstm": "BlockRNNModel", "tcn": "TCNModel", "transformer": "TransformerModel"}
    every: ClassVar = {"TransformerModel": 348}

    def _load(self) -> None:
        from darts import TimeSeries, models
        from darts.dataprocessing.transformers import Scaler
        from pytorch_lightning import Callback

        self.table, self.scaler, self.callback = TimeSeries, Scaler(), Callback
        self.kind = getattr(models, self.model)

    def _fit(self, task) -> None:
        steps = {} if self.asked.steps is None else {"max_steps": self.asked.steps}
        trainer = {
            **steps,
            "callbacks": [self.watch(self.callback)],
            "logger": False,
            "enable_progress_bar": False,
        }
        train = self.scaler.fit_transform(self._series(task.train))
        kind = {"model": "LSTM"} if self.model == "BlockRNNModel" else {}
        self.fitted = self.kind(
            input_chunk_length=task.context,
            output_chunk_length=task.horizon,
            random_state=self.asked.seed,
            pl_trainer_kwargs=trainer,
            **kind,
        )
        self.fitted.fit(train)
        self.parameters = sum(weights.numel() for weights in self.fitted.model.parameters())

    def _forecast(self, task, every):
        import numpy as np
        from tasks import Forecasts

        parts = self.fitted.historical_forecasts(
            self._series(task.frame),
            forecast_horizon=task.horizon,
            start=-task.test_rows,
            start_format="position",
            stride=every,
            retrain=False,
            last_points_only=False,
            data_transformers={"series": self.scaler},
        )
        values = np.stack([window.values()[:, 0] for windows in parts for window in windows])  # (W, H)
        return Forecasts(values, values)

    def _series(self, frame):
        return self.table.from_group_dataframe(
            frame, group_cols="unique_id", time_col="ds", value_cols="y", freq="h", drop_group_cols="unique_id"
        )


if __name__ == "__main__":
    measure(DartsPeer)
