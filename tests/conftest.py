"""For all tests: data come from the repository, whatever folder of data the machine has."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _no_data_home():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("FORECAST_DATA_HOME", raising=False)
        yield
