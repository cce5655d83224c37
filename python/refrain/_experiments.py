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
    """Values of metrics by call path and location, as Cube's files have them."""

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
        """As a file of Cube; an existing one is replaced."""
        self._read.write(os.fspath(file))

    def __sub__(self, other: Experiment) -> Experiment:
        return combine("diff", [self, other])


def read_experiment(path: Path) -> Experiment:
    """Of a file of Cube (.cubex) of any tool, or of an archive: its profile.cubex."""
    file = os.fspath(path)
    if os.path.isdir(file):
        file = os.path.join(file, "profile.cubex")
    return Experiment(_refrain.read_experiment(file))


def combine(operation: str, experiments: Sequence[Experiment]) -> Experiment:
    """`diff` (the first - the second), `mean`, `min`, `max` or `merge`, as `refrain experiment`."""
    return Experiment(_refrain.combine(operation, [each._read for each in experiments]))
