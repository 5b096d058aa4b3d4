"""pytorch-forecasting: RecurrentNetwork and TemporalFusionTransformer; it has no TCN.

It leaves how long to train to the user, so that its defaults train until the time is up.
"""

from typing import ClassVar

from peer import Peer, measure


class PytorchForecastingPeer(Peer):
    """A model of pytorch-forecasting; the context is given, since a table asks how much of it is read."""

    library = "pytorch-forecasting"
    models: ClassVar = {"lstm": "RecurrentNetwork", "transformer": "TemporalFusionTransformer"}
    every: ClassVar = {"TemporalFusionTransformer": 24}

    def _load(self) -> None:
        import pytorch_forecasting
        from lightning.pytorch import Callback, Trainer, seed_everything

        self.kind = getattr(pytorch_forecasting, self.model)
        self.table = pytorch_forecasting.TimeSeriesDataSet
        self.callback, self.trainer, self.seed = Callback, Trainer, seed_everything

    def _fit(self, task) -> None:
        self.seed(self.asked.seed)
        watch = self.watch(self.callback)
        known = {"time_varying_known_reals": ["time"]} if self.model == "TemporalFusionTransformer" else {}
        self.read = self.table(
            _counted(task.train, ahead=task.validation_rows + task.test_rows),
            time_idx="time",
            target="y",
            group_ids=["unique_id"],
            max_encoder_length=task.context,
            max_prediction_length=task.horizon,
            time_varying_unknown_reals=["y"],
            **known,
        )
        self.fitted = self.kind.from_dataset(self.read)
        trainer = self.trainer(
            max_epochs=-1,
            max_steps=-1 if self.asked.steps is None else self.asked.steps,
            callbacks=[watch],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(self.fitted, train_dataloaders=self.read.to_dataloader(train=True))
        self.parameters = sum(weights.numel() for weights in self.fitted.parameters())

    def _forecast(self, task, every):
        from tasks import Forecasts

        windows = self.table.from_dataset(
            self.read, _counted(task.frame), min_prediction_idx=-task.test_rows, stop_randomization=True
        )
        if every > 1:
            windows = windows.filter(lambda index: (index["time_idx_first_prediction"] + task.test_rows) % every == 0)
        found = self.fitted.predict(
            windows.to_dataloader(train=False, batch_size=1024),
            return_index=True,
            trainer_kwargs={"logger": False, "enable_progress_bar": False, "enable_checkpointing": False},
        )
        order = found.index.sort_values(["unique_id", "time"]).index.to_numpy()
        values = found.output.numpy()[order].astype("float64")  # (W, H)
        return Forecasts(values, values)


def _counted(frame, ahead: int = 0):
    """Give a frame with the place of each row before the end of its series, where `ahead` rows are left out."""
    back = frame.groupby("unique_id").cumcount(ascending=False)
    return frame.assign(time=-1 - ahead - back)


if __name__ == "__main__":
    measure(PytorchForecastingPeer)
