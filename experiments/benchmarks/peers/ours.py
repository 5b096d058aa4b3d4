"""foretell: LSTM, TCN and Transformer with their defaults, and the two rules that no network may fall behind."""

from typing import ClassVar

from peer import Peer, measure


class Ours(Peer):
    """A forecaster of ours; how far it reads is its own affair. It chooses its weights on the rows of validation."""

    library = "foretell"
    models: ClassVar = {
        "lstm": "NeuralForecaster('lstm')",
        "tcn": "NeuralForecaster('tcn')",
        "transformer": "NeuralForecaster('transformer')",
        "nlinear": "NLinear",
        "seasonal naive": "SeasonalNaive",
    }
    settings = ("fast", "balanced", "best")

    def _load(self) -> None:
        import forecast

        networks = {"lstm", "tcn", "transformer"}
        rules = {"nlinear": "NLinear", "seasonal naive": "SeasonalNaive"}
        family = self.asked.family
        self.kind = getattr(forecast, "NeuralForecaster" if family in networks else rules[family])
        self.is_network = family in networks

    def _fit(self, task) -> None:
        if not self.is_network:
            self.fitted = self.kind(task.horizon).fit(task.train)
            return
        from forecast import Training

        training = Training() if self.asked.steps is None else Training(steps=self.asked.steps)
        options = {"preset": self.asked.setting, "seed": self.asked.seed, "training": training}
        forecaster = self.kind(self.asked.family, task.horizon, **options)
        if task.validation_rows:
            forecaster = forecaster.holding_back(task.validation_rows, 0)
        self.fitted = forecaster.fit(task.without_last(task.test_rows))
        self.steps = int(self.fitted.learning_curve()["step"].max())
        self.parameters = self.fitted.parameters_

    def _forecast(self, task, every):
        from tasks import Forecasts

        one = task.frame[task.frame["unique_id"] == task.frame["unique_id"].iloc[0]]
        origins = task.origins(every)
        if len(origins) == 1:
            table = self.fitted.predict(task.without_last(task.test_rows))
        else:  # series that end together
            table = self.fitted.predict(task.frame, cutoffs=[one["ds"].iloc[-1 - back] for back in origins])
        means, medians = (table[name].to_numpy("float64").reshape(-1, task.horizon) for name in ("mean", "prediction"))
        return Forecasts(means, medians)


if __name__ == "__main__":
    measure(Ours)
