"""Experiments: values of metrics by call path and location, and their arithmetic. Part of `refrain`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _refrain
from ._frames import _pandas, _path_texts

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd  # type: ignore[import]

    Array = npt.NDArray[Any]
    Path = Union[str, "os.PathLike[str]"]


class Metric(NamedTuple):
    name: str
    title: str
    unit: str
    description: str
    parent: Optional[int]
    inclusive: bool  #: values of a call path contain those of the paths below it


class Experiment:
    """Values of metrics by call path and location, as Cube's files have them.

    >>> profile = refrain.read_experiment("loops")
    >>> [metric.name for metric in profile.metrics][:2], len(profile.locations)
    (['visits', 'time'], 4)
    """

    def __init__(self, read: _refrain.Experiment) -> None:
        self._read = read
        self.metrics: List[Metric] = [Metric(*each) for each in read.metrics]
        #: (name, rank, number in the process)
        self.locations: List[Tuple[str, int, int]] = read.locations
        self.notes: List[str] = read.notes

    @property
    def call_paths(self) -> List[str]:
        return _path_texts([(parent, name, "") for parent, name, _, _ in self._read.paths])

    def values(self, metric: str) -> Array:
        """By call path and location, as the file has them (Metric.inclusive)."""
        for number, each in enumerate(self.metrics):
            if each.name == metric:
                return self._read.values(number)
        raise KeyError(metric)

    def totals(self) -> Dict[str, float]:
        """Over all call paths and locations, by metric."""
        return {each.name: total for each, total in zip(self.metrics, self._read.totals())}

    def frame(self, metric: str) -> pd.DataFrame:
        pandas = _pandas()
        columns = pandas.MultiIndex.from_tuples(
            [(rank, number) for _, rank, number in self.locations], names=["rank", "thread"]
        )
        return pandas.DataFrame(self.values(metric), index=self.call_paths, columns=columns)

    def write(self, file: Path) -> None:
        """Writes a Cube file; an existing one is replaced."""
        self._read.write(os.fspath(file))

    def __sub__(self, other: Experiment) -> Experiment:
        return combine("diff", [self, other])


def read_experiment(path: Path) -> Experiment:
    """Reads a Cube file (.cubex) of any tool, or the profile.cubex of an archive.

    >>> refrain.read_experiment("loops").totals()["visits"] > 0
    True
    """
    file = os.fspath(path)
    if os.path.isdir(file):
        file = os.path.join(file, "profile.cubex")
    return Experiment(_refrain.read_experiment(file))


def combine(operation: str, experiments: Sequence[Experiment]) -> Experiment:
    """`diff` (first - second), `mean`, `min`, `max` or `merge`, as `refrain experiment`.

    >>> profile = refrain.read_experiment("loops")
    >>> refrain.combine("diff", [profile, profile]).totals()["time"]
    0.0
    """
    return Experiment(_refrain.combine(operation, [each._read for each in experiments]))
