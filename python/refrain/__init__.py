"""Archives, profiles, iterations, graphs, wait states and experiments, as arrays and frames.

    import refrain
    archive = refrain.Archive("run")
    analysis = refrain.analyze(archive)

docs/guide/python.md is the tutorial; it makes the archives that the examples in these docstrings use: `run` (two ranks, all
events) and `loops` (the same program, 5 iterations written). Whatever cannot be read raises refrain.Error, with one line that
says why. Frames need pandas, arrays NumPy; neither is imported before it is needed. One archive is read at a time, by
whatever thread. Ranks, threads and iterations are numbered as the command numbers them.
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
    "Scaling",
    "Send",
    "SentMessage",
    "TaskWait",
    "Trace",
    "WrongOrder",
    "analyze",
    "combine",
    "read_experiment",
    "scaling",
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
    """An OTF2 archive, of Refrain or of another tool: its directory, or its traces.otf2.

    Reads the definitions; everything else is read when it is asked for.

    >>> archive = refrain.Archive("loops")
    >>> archive.of_refrain, [process.rank for process in archive.processes], len(archive.locations)
    (True, [0, 1], 4)
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
        """What `refrain info --json` prints; of Refrain's archives only.

        >>> info = refrain.Archive("loops").info()
        >>> info["events_written"] < info["events_seen"]
        True
        """
        found: Dict[str, Any] = json.loads(_refrain.info(self.path))
        return found

    def profile(self, from_events: bool = False) -> Profile:
        """Where the time went, by call path and thread: from the summary, or from the events.

        >>> refrain.Archive("loops").profile().call_paths[0]
        'MPI_Init_thread (...late.c:...)'
        """
        return Profile(self.path, from_events)

    def messages(self, from_events: bool = False) -> Dict[str, Any]:
        """What `refrain profile --messages --json` prints: MPI by size and partner.

        >>> by_size = refrain.Archive("loops").messages()["by_size"]
        >>> [each["bytes_received"] for each in by_size if each["procedure"] == "MPI_Recv"]
        [160]
        """
        found: Dict[str, Any] = json.loads(_refrain.messages(self.path, from_events))
        return found

    def iterations(self) -> Iterations:
        """The iterations of outermost loops, by class of time; of Refrain's archives only.

        >>> refrain.Archive("loops").iterations().json["loops"][0]["iterations"]  # as info counts them
        40
        """
        return Iterations(self.path)

    def control_flow(self, from_events: bool = False) -> ControlFlow:
        """The order of regions, on each level of the call tree.

        >>> refrain.Archive("loops").control_flow().nodes[0].name
        'MPI_Init_thread'
        """
        return ControlFlow(_refrain.control_flow(self.path, from_events))

    def event_flow(self) -> Optional[EventFlow]:
        """The order of MPI calls. None: the archive has no such graph.

        >>> sorted({node.name for node in refrain.Archive("loops").event_flow().nodes if node.kind == 1})
        ['MPI_Allreduce', 'MPI_Finalize', 'MPI_Init_thread', 'MPI_Recv', 'MPI_Send']
        """
        found = _refrain.event_flow(self.path)
        return None if found is None else EventFlow(found)

    def trace(self, before: int = 1000, after: int = 1000) -> Trace:
        """The events one after the other, with their state. `before`: how many of each location stay in the window;
        `after`: how many in all are read ahead.

        >>> sum(event.kind == "MpiRecv" for event in refrain.Archive("run").trace())
        40
        """
        return Trace(self.path, before, after)

    def events(self, chunk: int = 1_000_000, ahead: int = 1000) -> Iterator[Events]:
        """All events with their state as arrays, `chunk` at a time. `ahead`: how many are read ahead, to know of a
        message that is received later.

        >>> sum(int((events["kind"] == events.kinds.index("MpiRecv")).sum()) for events in refrain.Archive("run").events())
        40
        """
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

    location, number (in the location), ns (since the archive's start), ticks, kind (number in Events.kinds), region (the
    innermost open one; of an Enter or Leave its own), depth (regions around it), enter_ns (of that region), peer, tag,
    communicator, bytes, request, value, and of a message's end the other one: other_location, other_number,
    other_enter_ns (of its call).

    >>> frame = next(refrain.Archive("run").events()).frame()
    >>> frame[frame["kind"] == "MpiRecv"][["rank", "thread", "region", "bytes"]].iloc[0].tolist()
    [1, 0, 'MPI_Recv', 4]
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
        """With names: kind and region are categories; rank (-1: none) and thread of each event."""
        pandas = _pandas()
        import numpy

        frame = pandas.DataFrame(self.columns)
        locations = self._archive.locations
        ranks = [self._archive.processes[each.process].rank for each in locations]
        of = self.columns["location"]
        frame.insert(0, "rank", numpy.asarray([-1 if rank is None else rank for rank in ranks])[of])
        frame.insert(1, "thread", numpy.asarray([each.thread for each in locations])[of])
        frame["kind"] = pandas.Categorical.from_codes(self.columns["kind"], self.kinds)
        # Different regions may have one name.
        names = [region.name for region in self._archive.regions]
        distinct = list(dict.fromkeys(names))
        place = {name: number for number, name in enumerate(distinct)}
        codes = [place[name] for name in names] + [-1]
        frame["region"] = pandas.Categorical.from_codes(
            numpy.asarray(codes, dtype=numpy.int64)[self.columns["region"]], distinct
        )
        return frame


class Trace:
    """Iterates over the events of an archive; `find` looks at any event in a window around the latest one.

    >>> trace = refrain.Archive("run").trace()
    >>> receive = next(event for event in trace if event.kind == "MpiRecv")
    >>> trace.find(receive.message["send"]["event"]).region
    'MPI_Send'
    """

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
    """Where the time of the whole run went.

    >>> frame = refrain.Archive("loops").profile().frame()
    >>> sends = frame[frame["call_path"].str.startswith("MPI_Send")]
    >>> sends["rank"].tolist(), sends["thread"].tolist(), int(sends["visits"].sum())
    ([0], [0], 40)
    """

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
    """What the iterations of outermost loops took, on each thread.

    >>> frame = refrain.Archive("loops").iterations().frame()
    >>> mine = frame[(frame["loop"] == 0) & (frame["rank"] == 0) & (frame["thread"] == 0)]
    >>> int(mine["iteration"].min()), int(mine["count"].sum())
    (1, 39)
    """

    def __init__(self, path: Path) -> None:
        self._path = os.fspath(path)
        #: What `refrain profile --iterations --json` prints.
        self.json: Dict[str, Any] = json.loads(_refrain.iterations(self._path))
        #: A row for each location and row of iterations, column by column.
        self.columns: Dict[str, Array] = _refrain.iteration_values(self._path)

    def frame(self) -> pd.DataFrame:
        """A row for each thread and iteration (or `count` iterations from `iteration` on); loop: index in json["loops"],
        -1: outside of loops; outermost: likewise, the one around all, or itself; memory_bytes, peak_memory_bytes: of the
        process, in rows of its primary thread, 0 where it was not looked at."""
        frame = _pandas().DataFrame(self.columns).rename(columns={"first": "iteration"})
        locations = self.json["locations"]
        frame.insert(0, "rank", [locations[at]["rank"] for at in self.columns["location"]])
        frame.insert(1, "thread", [locations[at]["thread"] for at in self.columns["location"]])
        return frame


class ControlFlow:
    """Nodes are call paths (name, parent, site, depth, visits, time_ns, own_ns). Edges, column by column: level (the
    path around, -1: the program), from and to (paths; -1: start of the level, -2: its end, -3: unknown), count.

    >>> flow = refrain.Archive("loops").control_flow()
    >>> int(flow.frame().query("level == -1 and `from` == -1")["count"].sum())  # one start for each thread
    4
    """

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
    bytes_sent, bytes_received, of all ranks together; `labels`: how often on which ranks.

    >>> flow = refrain.Archive("loops").event_flow()
    >>> edges = flow.frame()
    >>> to_send = [flow.nodes[node].name == "MPI_Send" for node in edges["to"]]
    >>> int(edges[to_send]["count"].sum())
    40
    """

    class Node(NamedTuple):
        kind: int  #: 0: start, 1: a call, 2: a parallel region, 3: others
        name: str
        site: str
        callers: List[str]
        partners: str
        size_minimum: int
        size_maximum: int

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

    >>> class Rest(refrain.Pattern):
    ...     name = "rest_of_receive"
    ...     parent = "mpi_point2point"
    ...     def receive(self, event):
    ...         self.charge(event.call, event.call.take(event.call.leave - event.call.enter))
    >>> refrain.analyze("run", patterns=[Rest]).metrics["rest_of_receive"] > 0
    True
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
    """What made a program wait.

    >>> analysis = refrain.analyze("run")
    >>> "mpi_latesender" in [finding["metric"] for finding in analysis.findings]
    True
    """

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
        """The same: a row for each call path, a column for each location (rank, thread).

        >>> late = refrain.analyze("run").frame("mpi_latesender")
        >>> late.sum().idxmax()
        (1, 0)
        """
        pandas = _pandas()
        columns = pandas.MultiIndex.from_tuples(
            [(each["rank"], each["thread"]) for each in self.json["locations"]], names=["rank", "thread"]
        )
        return pandas.DataFrame(self.values(metric, with_children), index=self.call_paths, columns=columns)

    def causes_frame(self) -> pd.DataFrame:
        """A row for each root cause, most time first: account, what, ranks (a list; empty: all), rank (if it is one), thread,
        loop, iteration (where it starts), seconds, share, gain_seconds, text. Nothing is in two rows.

        >>> causes = refrain.analyze("run").causes_frame()
        >>> bool(causes["rank"].notna().any()), bool((causes["share"] > 0).all())
        (True, True)
        """
        columns = ["account", "what", "ranks", "rank", "thread", "loop", "iteration", "seconds", "share", "gain_seconds", "text"]
        rows = []
        for each in self.json["conclusions"]["causes"]:
            own = {
                "rank": each["ranks"][0] if len(each["ranks"]) == 1 else None,
                "iteration": max(1, each["when"]["from"]) if each["loop"] else None,
            }
            rows.append([own[name] if name in own else each[name] for name in columns])
        frame = _pandas().DataFrame(rows, columns=columns)
        return frame.astype({"rank": "Int64", "thread": "Int64", "iteration": "Int64"})

    def findings_frame(self) -> pd.DataFrame:
        """A row for each finding and rank that waits, most time first: finding (its number), metric, title, call_path, file,
        line, rank, seconds.

        >>> found = refrain.analyze("run").findings_frame()
        >>> found[found["metric"] == "mpi_latesender"]["rank"].tolist()
        [1]
        """
        columns = ["finding", "metric", "title", "call_path", "file", "line", "rank", "seconds"]
        rows = [
            [number, *(finding[name] for name in columns[1:6]), each["rank"], each["seconds"]]
            for number, finding in enumerate(self.findings, 1)
            for each in finding["by_rank"]
        ]
        return _pandas().DataFrame(rows, columns=columns)

    def waits_frame(self, metric: str = "") -> pd.DataFrame:
        """A row for each metric, call path and thread with time: metric, call_path, rank, thread, seconds. Times are exclusive
        (without the metrics and call paths below), so that they add up. `metric`: only this one and those below it.

        >>> waits = refrain.analyze("run").waits_frame("mpi_point2point")
        >>> int(waits.groupby("rank")["seconds"].sum().idxmax())
        1
        """
        import numpy

        if metric and metric not in self._numbers:
            raise KeyError(metric)
        paths, locations = self.call_paths, self.json["locations"]
        chosen = {metric} if metric else {each["name"] for each in self.json["metric_tree"]}
        rows = []
        for each in self.json["metric_tree"]:  # parents first
            if each["name"] not in chosen and each["parent"] not in chosen:
                continue
            chosen.add(each["name"])
            values = self.values(each["name"], with_children=False)
            for path, at in numpy.argwhere(values != 0):
                where = locations[at]
                rows.append([each["name"], paths[path], where["rank"], where["thread"], values[path, at]])
        return _pandas().DataFrame(rows, columns=["metric", "call_path", "rank", "thread", "seconds"])

    def experiment(self) -> Experiment:
        """What is in analysis.cubex."""
        return Experiment(self._read.experiment())


def analyze(
    archive: Union[Archive, Path],
    patterns: Sequence[Union[Pattern, Type[Pattern]]] = (),
    modules: Sequence[Path] = (),
) -> Analysis:
    """Searches an archive for wait states, also with patterns of one's own: classes or objects of Pattern, and
    shared objects (docs/reference/patterns.md). Writes no file. What a pattern raises is raised here.

    >>> refrain.analyze("run").metrics["mpi_latesender"] > 0.01  # seconds
    True
    """
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


class Scaling:
    """Why a program does not scale: runs of different sizes compared with the smallest (docs/reference/scaling.md).

    >>> found = refrain.scaling(["run", "loops"], whole=True, weak=False)
    >>> list(found.frame().index)  # threads of each run
    [4, 4]
    """

    def __init__(self, read: str) -> None:
        #: What `refrain scaling --json` prints.
        self.json: Dict[str, Any] = json.loads(read)

    @property
    def findings(self) -> List[str]:
        """From each run to the next larger one."""
        found: List[str] = self.json["findings"]
        return found

    def frame(self) -> pd.DataFrame:
        """A row for each run (index: threads): archive, processes, seconds, speedup, and the factors."""
        pandas = _pandas()
        rows = [
            {**{name: value for name, value in run.items() if name != "factors"}, **run["factors"]}
            for run in self.json["runs"]
        ]
        return pandas.DataFrame(rows).set_index("threads")

    def losses(self) -> pd.DataFrame:
        """A row for each place and run: kind, place, archive, processes, threads, seconds of all threads, and what of
        them is lost."""
        columns = ["kind", "place", "archive", "processes", "threads", "thread_seconds", "lost_seconds"]
        rows = [
            (loss["kind"], loss["place"], run["archive"], run["processes"], run["threads"], seconds, lost)
            for loss in self.json["losses"]
            for run, seconds, lost in zip(self.json["runs"], loss["thread_seconds"], loss["lost_seconds"])
        ]
        return _pandas().DataFrame(rows, columns=columns)


def scaling(
    archives: Sequence[Union[Archive, Path]],
    loop: str = "",
    whole: bool = False,
    weak: Optional[bool] = None,
    at: float = 0,
) -> Scaling:
    """Compares runs of one program on different numbers of ranks or threads. `loop`: of this loop (a part of its place),
    `whole`: of the whole runs; `weak`: the problem grows with the threads (None: seen from the work); `at`: threads that
    models are extrapolated to (0: four times the largest run's).

    >>> int(refrain.scaling(["run", "loops"], whole=True, weak=False).losses()["threads"].max())
    4
    """
    return Scaling(_refrain.scaling([os.fspath(each) for each in archives], loop, whole, weak, at))
