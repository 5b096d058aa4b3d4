"""Folders of Parquet files as a source of series: more of them than fit into memory, read some at a time."""

from forecast.folders.drawing import MOST_VALUES, folder_panel
from forecast.folders.identity import look_at_ids
from forecast.folders.series import tables_of
from forecast.folders.source import Source, parquet, source_of

__all__ = ["MOST_VALUES", "Source", "folder_panel", "look_at_ids", "parquet", "source_of", "tables_of"]
