"""The store: the folder of an experiment, what it holds, and the keys by which it is found again."""

from forecast.experiment.store.contents import Content, Failure, Forecasts
from forecast.experiment.store.files import FORMAT, StoreError, read_json, write_json
from forecast.experiment.store.folder import FREE_TO_CHANGE, Status, Store, differing
from forecast.experiment.store.keys import checksum_of, code_version, key_of

__all__ = [
    "FORMAT",
    "FREE_TO_CHANGE",
    "Content",
    "Failure",
    "Forecasts",
    "Status",
    "Store",
    "StoreError",
    "checksum_of",
    "code_version",
    "differing",
    "key_of",
    "read_json",
    "write_json",
]
