"""Archives, profiles, iterations, graphs, wait states and experiments, as arrays and frames.

    import refrain
    archive = refrain.Archive("run")
    analysis = refrain.analyze(archive)

docs/guide/python.md is the tutorial. Whatever cannot be read raises refrain.Error, with one line that says why. Frames need
pandas, arrays NumPy; neither is imported before it is needed. One archive is read at a time, by whatever thread.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Type, Union

try:
    from . import _refrain
except ImportError as problem:
    raise ImportError(
        "refrain's module cannot be loaded by this Python; it was built for Debian's /usr/bin/python3: "
        + str(problem)
    ) from problem

from ._experiments import Experiment, Metric, combine, read_experiment
from ._frames import _pandas, _path_texts
from ._refrain import Error, __version__

# What the methods of a pattern get.
from ._refrain import (
    Access,
    AccessEpoch,
    Barrier,
    Call,
    Collective,
    CollectiveCompletion,
    Event,
    ExposureEpoch,
    Fork,
    LateSender,
    LeftOut,
    LockAccess,
    LockEpoch,
    LockWait,
    PostedReceive,
    Receive,
    Run,
    Send,
    SentMessage,
    TaskWait,
    WrongOrder,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd  # type: ignore[import]

    Array = npt.NDArray[Any]
    Path = Union[str, "os.PathLike[str]"]

__all__ = [
    "Access",
    "AccessEpoch",
    "Analysis",
    "Archive",
    "Barrier",
    "Call",
    "CallSite",
    "Collective",
    "CollectiveCompletion",
    "Communicator",
    "ControlFlow",
    "Error",
    "Event",
    "EventFlow",
    "Events",
    "Experiment",
    "ExposureEpoch",
    "Fork",
    "Iterations",
    "LateSender",
    "LeftOut",
    "Location",
    "LockAccess",
    "LockEpoch",
    "LockWait",
    "Metric",
    "Pattern",
    "PostedReceive",
    "Process",
    "Profile",
    "Receive",
    "Region",
    "Run",
    "Send",
    "SentMessage",
    "TaskWait",
    "Trace",
    "WrongOrder",
    "analyze",
    "combine",
    "read_experiment",
]


class Region(NamedTuple):
    """A named part of the code."""

    name: str
    file: str
    line: int
    role: int  #: OTF2's number
    paradigm: int  #: OTF2's number
    is_iteration: bool  #: marks iterations of a loop that Refrain detected


class Location(NamedTuple):
    """A thread's stream of events."""

    name: str
    process: int
    thread: int  #: in its process
    reference: int  #: in the archive
    is_thread: bool
    events: int  #: as the archive defines


class Process(NamedTuple):
    name: str
    rank: Optional[int]  #: of MPI
    node: str
    locations: List[int]


class Communicator(NamedTuple):
    name: str
    of_processes: bool  #: else a team of threads
    members: Optional[List[int]]  #: processes by rank


class CallSite(NamedTuple):
    """The region at the end of a call path."""

    name: str  #: empty: the program
    file: str
    line: int
    site: str  #: of the call, "file:line"


class Archive:
    """An OTF2 archive, of Refrain or of another tool: its folder, or its traces.otf2.

    Reads the definitions; everything else is read when it is asked for.
    """

    def __init__(self, path: Path) -> None:
        self.path: str = os.fspath(path)
        read = _refrain.definitions(self.path)
        self.creator: str = read["creator"]
        self.machine: str = read["machine"]
        self.of_refrain: bool = read["of_refrain"]
        self.ticks_per_second: int = read["ticks_per_second"]
        self.properties: Dict[str, str] = read["properties"]
        self.regions: List[Region] = [Region(*each) for each in read["regions"]]
        self.locations: List[Location] = [Location(*each) for each in read["locations"]]
        self.processes: List[Process] = [Process(*each) for each in read["processes"]]
        self.communicators: List[Communicator] = [Communicator(*each) for each in read["communicators"]]

    def __repr__(self) -> str:
        return f"refrain.Archive({self.path!r})"

    def __fspath__(self) -> str:
        return self.path

    def info(self) -> Dict[str, Any]:
        """What `refrain info --json` prints; of Refrain's archives only."""
        found: Dict[str, Any] = json.loads(_refrain.info(self.path))
        return found

    def profile(self, from_events: bool = False) -> Profile:
        """Where the time went, by call path and thread: of the summary, or of the events."""
        return Profile(self.path, from_events)

    def messages(self, from_events: bool = False) -> Dict[str, Any]:
        """What `refrain profile --messages --json` prints: MPI by size and partner."""
        found: Dict[str, Any] = json.loads(_refrain.messages(self.path, from_events))
        return found

    def iterations(self) -> Iterations:
        """The iterations of outermost loops, by class of time; of Refrain's archives only."""
        return Iterations(self.path)

    def control_flow(self, from_events: bool = False) -> ControlFlow:
        """Which region came after which, on each level of the call tree."""
        return ControlFlow(_refrain.control_flow(self.path, from_events))

    def event_flow(self) -> Optional[EventFlow]:
        """Which call of MPI came after which. None: the archive has no such graph."""
        found = _refrain.event_flow(self.path)
        return None if found is None else EventFlow(found)

    def trace(self, before: int = 1000, after: int = 1000) -> Trace:
        """The events one after the other, with their state. `before`: how many of each location stay in the window;
        `after`: how many in all are read ahead."""
        return Trace(self.path, before, after)

    def events(self, chunk: int = 1_000_000, ahead: int = 1000) -> Iterator[Events]:
        """All events with their state as arrays, so many at a time. `ahead`: how many are read ahead, to know of a
        message that is received later."""
        if chunk < 1:
            raise ValueError("chunk must be at least 1")
        trace = _refrain.Trace(self.path, 0, ahead)
        while True:
            columns = trace.read(chunk)
            if columns is None:
                return
            yield Events(columns, self)


class Events:
    """Events in the order of time, column by column (`columns`). -1 stands for none.

    location, number (in the location), ns (since the archive's begin), ticks, kind (number in Events.kinds), region (the
    innermost open one; of an Enter or Leave its own), depth (regions around it), enter_ns (of that region), peer, tag,
    communicator, bytes, request, value, and of a message's end the other one: other_location, other_number,
    other_enter_ns (of its call).
    """

    kinds: List[str] = _refrain.event_kinds

    def __init__(self, columns: Dict[str, Array], archive: Archive) -> None:
        self.columns = columns
        self._archive = archive

    def __len__(self) -> int:
        return len(self.columns["ns"])

    def __getitem__(self, column: str) -> Array:
        return self.columns[column]

    def frame(self) -> pd.DataFrame:
        """With names: kind and region are categories."""
        pandas = _pandas()
        frame = pandas.DataFrame(self.columns)
        frame["kind"] = pandas.Categorical.from_codes(self.columns["kind"], self.kinds)
        # Different regions may have one name.
        names = [region.name for region in self._archive.regions]
        distinct = list(dict.fromkeys(names))
        place = {name: number for number, name in enumerate(distinct)}
        codes = [place[name] for name in names] + [-1]
        import numpy

        frame["region"] = pandas.Categorical.from_codes(
            numpy.asarray(codes, dtype=numpy.int64)[self.columns["region"]], distinct
        )
        return frame


class Trace:
    """Iterates over the events of an archive; `find` looks at random in a window around the latest one."""

    def __init__(self, path: Path, before: int = 1000, after: int = 1000) -> None:
        self._trace = _refrain.Trace(os.fspath(path), before, after)

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        event = self._trace.next()
        if event is None:
            raise StopIteration
        return event

    def find(self, id: Optional[Tuple[int, int]]) -> Optional[Event]:
        """The event (location, number). None: it is not in the window, or there is none."""
        return None if id is None else self._trace.find(*id)


class Profile:
    """Where the time of the whole run went."""

    def __init__(self, path: Path, from_events: bool = False) -> None:
        self._path = os.fspath(path)
        self._from_events = from_events
        #: What `refrain profile --json` prints.
        self.json: Dict[str, Any] = json.loads(_refrain.profile(self._path, from_events))
        self._columns: Optional[Dict[str, Array]] = None

    @property
    def columns(self) -> Dict[str, Array]:
        """A row for each call path and location, column by column."""
        if self._columns is None:
            self._columns = _refrain.profile_values(self._path, self._from_events)
        return self._columns

    @property
    def call_paths(self) -> List[str]:
        return _path_texts([(each["parent"], each["name"], each["site"]) for each in self.json["paths"]])

    def frame(self) -> pd.DataFrame:
        """A row for each call path and location, with their names."""
        frame = _pandas().DataFrame(self.columns)
        paths = self.call_paths
        frame.insert(0, "call_path", [paths[path] for path in self.columns["path"]])
        frame.insert(1, "class", [self.json["paths"][path]["class"] for path in self.columns["path"]])
        locations = self.json["locations"]
        processes = self.json["processes"]
        ranks = [processes[each["process"]]["rank"] for each in locations]
        frame.insert(2, "rank", [ranks[at] for at in self.columns["location"]])
        frame.insert(3, "thread", [locations[at]["thread"] for at in self.columns["location"]])
        return frame


class Iterations:
    """What the iterations of outermost loops took, on each thread."""

    def __init__(self, path: Path) -> None:
        self._path = os.fspath(path)
        #: What `refrain profile --iterations --json` prints.
        self.json: Dict[str, Any] = json.loads(_refrain.iterations(self._path))
        #: A row for each location and row of iterations, column by column.
        self.columns: Dict[str, Array] = _refrain.iteration_values(self._path)

    def frame(self) -> pd.DataFrame:
        return _pandas().DataFrame(self.columns)


class ControlFlow:
    """Nodes are call paths (name, parent, site, depth, visits, time_ns, own_ns). Edges, column by column: level (the
    path around, -1: the program), from and to (paths; -1: begin of the level, -2: its end, -3: not known), count."""

    class Node(NamedTuple):
        name: str
        parent: Optional[int]
        site: str
        depth: int
        visits: int
        time_ns: float
        own_ns: float

    def __init__(self, read: Dict[str, Any]) -> None:
        self.nodes: List[ControlFlow.Node] = [self.Node(*each) for each in read["nodes"]]
        self.edges: Dict[str, Array] = {name: read[name] for name in ("level", "from", "to", "count")}

    def frame(self) -> pd.DataFrame:
        """The edges."""
        return _pandas().DataFrame(self.edges)


class EventFlow:
    """Nodes are calls of MPI with partner and size. Edges, column by column: from, to, count, time_ns, gap_ns,
    bytes_sent, bytes_received, of all ranks together; `labels`: how often on which ranks."""

    class Node(NamedTuple):
        kind: int  #: 0: start, 1: a call, 2: a parallel region, 3: others
        name: str
        site: str
        callers: List[str]
        partners: str
        size_least: int
        size_greatest: int

    def __init__(self, read: Dict[str, Any]) -> None:
        self.nodes: List[EventFlow.Node] = [self.Node(*each) for each in read["nodes"]]
        self.labels: List[str] = read["ranks"]
        self.edges: Dict[str, Array] = {
            name: read[name]
            for name in ("from", "to", "count", "time_ns", "gap_ns", "bytes_sent", "bytes_received")
        }

    def frame(self) -> pd.DataFrame:
        """The edges."""
        frame = _pandas().DataFrame(self.edges)
        frame["label"] = self.labels
        return frame


class Pattern:
    """A pattern of one's own: derive from it, say what the metric is, and write methods for the events that are wanted.

    `name` and `parent` are metrics: what is charged is a part of the parent's value ("" : a view of its own). Methods, each
    with one argument (docs/guide/python.md): begin, call, receive, late_sender, wrong_order, send, collective,
    collective_completion, access_epoch, exposure_epoch, lock_epoch, barrier, task_wait, fork, lock_wait, left_out; and
    finish, without one. Times are ticks. What is charged, and taken of a call, is time of the call that waits.
    """

    name: str = ""
    parent: str = ""
    title: str = ""
    description: str = ""
    cause: str = ""  #: what usually makes the program wait so; empty: it is no finding

    _host: Optional[_refrain.PatternHost] = None

    def _called(self) -> _refrain.PatternHost:
        if self._host is None:
            raise Error("a pattern can charge and ask only while it is called for an event")
        return self._host

    def charge(self, call: Call, ticks: int) -> None:
        """Charges time of a call to this pattern's metric."""
        self._called().charge(call, ticks)

    def charge_at(self, location: int, path: int, ticks: int) -> None:
        """Charges time at a call path of a location."""
        self._called().charge_at(location, path, ticks)

    def region(self, call: Call) -> CallSite:
        """The region that a call is of."""
        return CallSite(*self._called().region(call.process, call.path))

    def call_path(self, process: int, path: int) -> List[str]:
        """The names of the regions of a call path, from the outside."""
        names: List[str] = []
        at: Optional[int] = path
        while at is not None:
            name = self._called().region(process, at)[0]
            if name:
                names.insert(0, name)
            at = self._called().parent(process, at)
        return names

    def rank(self, location: int) -> Optional[int]:
        """The rank in MPI_COMM_WORLD of a location's process."""
        return self._called().location(location)[2]


class Analysis:
    """What made a program wait."""

    def __init__(self, read: _refrain.Analysis) -> None:
        self._read = read
        #: What `refrain analyze --json` prints.
        self.json: Dict[str, Any] = json.loads(read.json())
        self._numbers = {each["name"]: at for at, each in enumerate(self.json["metric_tree"])}

    @property
    def metrics(self) -> Dict[str, float]:
        """Seconds by metric, with its children, over all call paths and locations."""
        found: Dict[str, float] = self.json["metrics"]
        return found

    @property
    def findings(self) -> List[Dict[str, Any]]:
        """Most time first."""
        found: List[Dict[str, Any]] = self.json["findings"]
        return found

    @property
    def call_paths(self) -> List[str]:
        return _path_texts([(each["parent"] or None, each["name"], each["site"]) for each in self.json["paths"]])

    @property
    def parents(self) -> List[Optional[int]]:
        """Of each call path the one around it; a parent stands before its children."""
        return self._read.parents

    def text(self, width: int = 100, all: bool = False) -> str:
        """What `refrain analyze` prints."""
        return "\n".join(self._read.screen(width, all))

    def values(self, metric: str, with_children: bool = True) -> Array:
        """Seconds by call path and location; of a call path without those below it."""
        if metric not in self._numbers:
            raise KeyError(metric)
        return self._read.values(self._numbers[metric], with_children)

    def frame(self, metric: str, with_children: bool = True) -> pd.DataFrame:
        """The same: a row for each call path, a column for each location (rank, thread)."""
        pandas = _pandas()
        columns = pandas.MultiIndex.from_tuples(
            [(each["rank"], each["thread"]) for each in self.json["locations"]], names=["rank", "thread"]
        )
        return pandas.DataFrame(self.values(metric, with_children), index=self.call_paths, columns=columns)

    def experiment(self) -> Experiment:
        """What is in analysis.cubex."""
        return Experiment(self._read.experiment())


def analyze(
    archive: Union[Archive, Path],
    patterns: Sequence[Union[Pattern, Type[Pattern]]] = (),
    modules: Sequence[Path] = (),
) -> Analysis:
    """Searches an archive for wait states, also with patterns of one's own: classes or objects of Pattern, and
    shared objects (docs/reference/patterns.md). Writes no file. What a pattern raises is raised here."""
    objects = [each() if isinstance(each, type) else each for each in patterns]
    hosts = []
    for each in objects:
        if not isinstance(each, Pattern):
            raise TypeError(f"{each!r} is no refrain.Pattern")
        wanted = [method for method in _refrain.pattern_methods if callable(getattr(each, method, None))]
        each._host = _refrain.PatternHost(
            each, each.name, each.parent, each.title or each.name, each.description, each.cause, wanted
        )
        hosts.append(each._host)
    try:
        return Analysis(_refrain.analyze(os.fspath(archive), hosts, [os.fspath(each) for each in modules]))
    finally:
        for each in objects:
            each._host = None
