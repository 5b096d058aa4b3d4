"""For all tests: one thread each, and data from the repository, whatever folder of data the machine has.

For some: pictures that are not laid out.
"""

import os

import pytest

# Tests run in as many processes as the machine has cores; threads of each would wait for those of the others.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture(autouse=True, scope="session")
def _no_data_home():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("FORECAST_DATA_HOME", raising=False)
        yield


@pytest.fixture(scope="module")
def unlaid():
    """Draw without a layout, which takes most of the time of a picture: for files to which it is enough that it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matplotlib.figure.Figure.get_layout_engine", lambda figure: None)
        yield
