"""The synthetic ledger, made once; tests that change it make their own with `synthetic`."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="session")
def synthetic():
    """Namespace of `synthetic.py`: test folders are no packages, so that it is run rather than imported."""
    return SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("synthetic.py"))))


@pytest.fixture(scope="session")
def made(synthetic):
    return synthetic.make_ledger()


@pytest.fixture(scope="session")
def ledger(made):
    return made[0]


@pytest.fixture(scope="session")
def history(made):
    return made[1]
