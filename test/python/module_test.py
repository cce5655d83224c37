"""The module refrain: the same numbers as the command prints, errors as exceptions, archives of any tool."""

import collections
import itertools
import json
import os
import subprocess
import sys
import traceback
import unittest
import warnings

import archives
import numpy
import refrain


def command(*words):
    return json.loads(archives.run([archives.REFRAIN, *words]))


HYBRID = archives.recorded("hybrid_gcc-30-200_n2o_t2_LIMIT=0", "hybrid")
REDUCED = archives.recorded("hybrid_gcc-60-200_n2o_t2_LIMIT=5", "reduced")
LEAST = 0.01  # of what it waits, in seconds: its sleeps are many times longer
LATE = archives.recorded("waits_mpi_gcc-p2p_isend_any_sender-320_n2o_t2_LIMIT=0", "late")
ORDER = archives.recorded("waits_mpi_gcc-order_same-320_n3o_t2_LIMIT=0", "order")
LOCAL = archives.recorded("waits_omp_gcc-barrier_last-20_t2_LIMIT=0", "omp")
FOREIGN = archives.foreign()


class SameAsTheCommand(unittest.TestCase):
    def test_info(self):
        for archive in (HYBRID, REDUCED):
            self.assertEqual(refrain.Archive(archive).info(), command("info", "--json", archive))

    def test_scaling(self):
        found = refrain.scaling([HYBRID, REDUCED], whole=True, weak=False)
        self.assertEqual(found.json, command("scaling", "--json", "--quiet", "--whole", "--strong", HYBRID, REDUCED))
        frame = found.frame()
        self.assertEqual(list(frame.index), [4, 4])
        self.assertEqual(list(frame["archive"]), [HYBRID, REDUCED])
        self.assertNotIn("factors", frame.columns)
        self.assertEqual(frame["parallel"].iloc[1], found.json["runs"][1]["factors"]["parallel"])
        losses = found.losses()
        self.assertEqual(len(losses), 2 * len(found.json["losses"]))
        self.assertEqual(losses["lost_seconds"].iloc[0], 0)
        with self.assertRaisesRegex(refrain.Error, "at least two"):
            refrain.scaling([HYBRID])

    def test_definitions(self):
        archive = refrain.Archive(HYBRID)
        info = archive.info()
        self.assertTrue(archive.of_refrain)
        self.assertEqual(archive.properties, info["properties"])
        self.assertEqual(len(archive.locations), info["threads"])
        self.assertEqual([process.rank for process in archive.processes], [0, 1])
        self.assertIn("MPI_Allreduce", [region.name for region in archive.regions])
        self.assertEqual(os.fspath(archive), HYBRID)

    def test_profile(self):
        for archive in (HYBRID, REDUCED, FOREIGN):
            for words in ((), ("--events",)):
                found = refrain.Archive(archive).profile(from_events=bool(words))
                self.assertEqual(found.json, command("profile", "--json", "--quiet", *words, archive))
                for name in ("visits", "time_ns", "own_ns", "bytes_sent", "messages_received"):
                    sums = numpy.zeros(len(found.json["paths"]))
                    numpy.add.at(sums, found.columns["path"], found.columns[name])
                    numpy.testing.assert_allclose(sums, [path[name] for path in found.json["paths"]], rtol=1e-9)
                frame = found.frame()
                self.assertEqual(len(frame), len(found.columns["path"]))
                self.assertEqual(set(frame["call_path"]), {found.call_paths[at] for at in found.columns["path"]})

    def test_messages(self):
        self.assertEqual(
            refrain.Archive(HYBRID).messages(), command("profile", "--messages", "--json", "--quiet", HYBRID)
        )

    def test_iterations(self):
        found = refrain.Archive(REDUCED).iterations()
        self.assertEqual(found.json, command("profile", "--iterations", "--json", "--quiet", REDUCED))
        rows = [row for location in found.json["locations"] for row in location["rows"]]
        self.assertGreater(len(rows), 50)
        self.assertEqual(len(found.frame()), len(rows))
        numpy.testing.assert_array_equal(found.columns["count"], [row["count"] for row in rows])
        numpy.testing.assert_allclose(found.columns["begin_ns"], [row["begin_ns"] for row in rows])
        for name in ("memory_bytes", "peak_memory_bytes"):
            numpy.testing.assert_array_equal(found.columns[name], [row.get(name, 0) for row in rows])
        for name in ("loop", "outermost"):
            given = [-1 if row[name] is None else row[name] for row in rows]
            numpy.testing.assert_array_equal(found.columns[name], given)
            self.assertGreater(max(given), -1)

    def test_analyze(self):
        for archive in (HYBRID, REDUCED, LATE, ORDER, LOCAL, FOREIGN):
            found = refrain.analyze(archive)
            self.assertEqual(found.json, command("analyze", "--json", "--quiet", "--no-cube", archive))
            for metric, seconds in found.metrics.items():
                self.assertAlmostEqual(found.values(metric).sum(), seconds, delta=1e-9 + 1e-9 * seconds)
            self.assertFalse(os.path.exists(os.path.join(archive, "analysis.cubex")))
        text = archives.run([archives.REFRAIN, "analyze", "--quiet", "--no-cube", LATE])
        self.assertEqual(refrain.analyze(LATE).text().split(), text.split())
        self.assertGreater(refrain.analyze(LATE).metrics["mpi_latesender"], LEAST / 2)

    def test_analysis_as_frame(self):
        found = refrain.analyze(LATE)
        frame = found.frame("mpi_latesender")
        self.assertEqual(list(frame.columns), [(each["rank"], each["thread"]) for each in found.json["locations"]])
        self.assertEqual(list(frame.index), found.call_paths)
        self.assertEqual(frame[(0, 0)].sum(), 0)
        self.assertGreater(frame[(1, 0)].sum(), LEAST / 2)
        self.assertRaises(KeyError, found.values, "no_such_metric")

    def test_graphs(self):
        archive = refrain.Archive(HYBRID)
        flow = archive.control_flow()
        drawn = command("graph", "--to", "json", "--quiet", HYBRID)
        paths = [path["visits"] for path in archive.profile().json["paths"]]
        self.assertEqual([node.visits for node in flow.nodes], paths)
        # As many transitions lead to a region as it has visits.
        to = numpy.zeros(len(paths))
        inner = flow.edges["to"] >= 0
        numpy.add.at(to, flow.edges["to"][inner], flow.edges["count"][inner])
        numpy.testing.assert_array_equal(to, paths)
        self.assertEqual(len(flow.frame()), len(flow.edges["count"]))
        self.assertTrue(drawn)
        events = archive.event_flow()
        with open(os.path.join(HYBRID, "summary", "graph.json")) as file:
            written = json.load(file)
        self.assertEqual(len(events.nodes), len(written["nodes"]))
        calls = {region["name"]: region["calls"] for region in archive.info()["summary"]["regions"]}
        to_allreduce = sum(
            int(count)
            for count, to in zip(events.edges["count"], events.edges["to"])
            if events.nodes[to].name == "MPI_Allreduce"
        )
        self.assertEqual(to_allreduce, calls["MPI_Allreduce"])
        self.assertEqual(list(events.frame()["label"]), events.labels)
        self.assertIsNone(refrain.Archive(FOREIGN).event_flow())

    def test_experiments(self):
        read = refrain.read_experiment(HYBRID)
        file = os.path.join(HYBRID, "profile.cubex")
        totals = command("experiment", "mean", "--json", "--all", file)["metrics"]
        for name, total in read.totals().items():
            self.assertAlmostEqual(total, totals[name]["files"][0], delta=1e-9 * abs(total))
        zero = read - read
        self.assertTrue(all((zero.values(metric.name) == 0).all() for metric in zero.metrics))
        analysis = refrain.analyze(LATE)
        experiment = analysis.experiment()
        numpy.testing.assert_allclose(
            experiment.values("mpi_latesender"), analysis.values("mpi_latesender"), atol=1e-12
        )
        written = os.path.join(archives.FOLDER, "written.cubex")
        experiment.write(written)
        again = refrain.read_experiment(written)
        numpy.testing.assert_array_equal(again.values("time"), experiment.values("time"))
        self.assertEqual(len(again.frame("time")), len(again.call_paths))
        self.assertRaises(refrain.Error, refrain.combine, "divide", [read])
        self.assertRaises(refrain.Error, refrain.combine, "diff", [read])
        self.assertRaises(refrain.Error, refrain.read_experiment, __file__)


class EventsWithState(unittest.TestCase):
    def test_columns(self):
        archive = refrain.Archive(HYBRID)
        chunks = list(archive.events(chunk=777))
        self.assertTrue(all(len(chunk) == 777 for chunk in chunks[:-1]))
        (whole,) = archive.events()
        for name, column in whole.columns.items():
            numpy.testing.assert_array_equal(numpy.concatenate([chunk[name] for chunk in chunks]), column)
        self.assertTrue((numpy.diff(whole["ns"]) >= 0).all())
        counts = numpy.bincount(whole["location"], minlength=len(archive.locations))
        self.assertEqual(list(counts), [each["archive_events"] for each in archive.info()["locations"]])
        kinds = {name: whole["kind"] == whole.kinds.index(name) for name in whole.kinds}
        self.assertEqual(kinds["Enter"].sum(), kinds["Leave"].sum())
        # The other end of each message, and its bytes.
        receives = kinds["MpiRecv"] | kinds["MpiIrecv"]
        sends = kinds["MpiSend"] | kinds["MpiIsend"]
        self.assertGreater(receives.sum(), 0)
        self.assertEqual(receives.sum(), sends.sum())
        place = {key: at for at, key in enumerate(zip(whole["location"].tolist(), whole["number"].tolist()))}
        for at in numpy.flatnonzero(receives):
            other = place[(whole["other_location"][at], whole["other_number"][at])]
            self.assertTrue(sends[other])
            self.assertEqual(whole["bytes"][other], whole["bytes"][at])
            self.assertEqual(whole["enter_ns"][other], whole["other_enter_ns"][at])
        frame = whole.frame()
        names = frame[frame["kind"] == "Enter"]["region"].value_counts()
        calls = {region["name"]: region["calls"] for region in archive.info()["summary"]["regions"]}
        self.assertEqual(names["MPI_Allreduce"], calls["MPI_Allreduce"])

    def late_senders(self, trace):
        """As mpi_latesender is defined, in ns, by rank of the thread that waits."""
        latest, found = {}, collections.Counter()
        for event in trace:
            if event.kind in ("MpiRecv", "MpiIrecv"):
                latest.setdefault(event.enter, []).append(event)
            elif event.kind == "Leave" and event.enter in latest:
                sent = max(each.message["send"]["enter_ns"] for each in latest.pop(event.enter))
                if not event.region.startswith("MPI_Test"):
                    found[event.location] += max(0, min(sent, event.ns) - event.enter_ns)
        return found

    def test_late_senders_of_any_window(self):
        for archive in (LATE, ORDER):
            values = refrain.analyze(archive).values("mpi_latesender").sum(axis=0)
            self.assertGreater(values.sum(), LEAST / 2)
            for before, after in ((0, 0), (1, 3), (50, 0), (10, 1000), (100000, 100000)):
                found = self.late_senders(refrain.Archive(archive).trace(before, after))
                for location, seconds in enumerate(values):
                    self.assertAlmostEqual(found[location] / 1e9, seconds, delta=1e-7)

    def test_window(self):
        trace = refrain.Archive(HYBRID).trace(before=20, after=50)
        kinds = collections.Counter()
        latest = {}
        for event in trace:
            kinds[event.kind] += 1
            latest[event.location] = event.number
            self.assertEqual(trace.find(event.id).ns, event.ns)
            self.assertIsNone(trace.find((event.location, event.number + 10**9)))
            if event.number > 20:
                self.assertIsNone(trace.find((event.location, event.number - 21)))
                self.assertEqual(trace.find((event.location, event.number - 20)).number, event.number - 20)
            if event.kind == "Leave" and not event.of_iteration:
                self.assertEqual(event.stack[0][0], event.region)
                self.assertEqual(len(event.stack), event.depth + 1)
                enter = trace.find(event.enter)
                if enter is not None:
                    self.assertEqual((enter.kind, enter.region, enter.leave), ("Enter", event.region, event.id))
            if event.kind == "MpiCollectiveEnd" and event.collective["complete"]:
                self.assertEqual(len(event.collective["members"]), 2)
                self.assertIn(event.id, [member["end"] for member in event.collective["members"]])
            if event.barrier is not None and event.kind == "Leave":
                self.assertEqual(len(event.barrier["members"]), 2)
                self.assertGreaterEqual(event.ns, max(each["enter_ns"] for each in event.barrier["members"]))
            if event.kind == "MpiIrecv":
                self.assertEqual(event.request["begun"][0], event.location)
                self.assertLess(event.request["begun_ns"], event.ns)
        self.assertGreater(kinds["MpiCollectiveEnd"], 20)
        self.assertGreater(kinds["ThreadTeamBegin"], 20)
        old = next(iter(refrain.Archive(HYBRID).trace(0, 0)))
        self.assertIsInstance(old, refrain.Event)

    def test_an_event_outlives_its_window(self):
        trace = refrain.Archive(HYBRID).trace(before=0, after=0)
        first = next(trace)
        for _ in range(500):
            last = next(trace)
        del trace
        self.assertEqual(first.number, 0)
        self.assertGreaterEqual(last.ns, first.ns)
        self.assertRaises(refrain.Error, lambda: first.stack)


class LateAgain(refrain.Pattern):
    name = "late_again"
    parent = ""
    title = "Late again"

    def receive(self, event):
        if event.call.test:
            return
        latest = max(message.sent for message in event.messages)
        self.charge(event.call, event.call.wait_until(latest))


class Rest(refrain.Pattern):
    name = "rest_of_receive"
    parent = "mpi_point2point"
    cause = "The network is slow."

    def __init__(self):
        self.paths = set()

    def receive(self, event):
        self.paths.add(tuple(self.call_path(event.call.process, event.call.path)))
        self.charge(event.call, event.call.take(event.call.leave - event.call.enter))


class Raises(refrain.Pattern):
    name = "raises"

    def __init__(self, method):
        setattr(self, method, self.divide)

    def divide(self, *_):
        return 1 / 0


class Seen(refrain.Pattern):
    name = "seen"
    parent = ""

    def __init__(self):
        self.kinds = collections.Counter()
        self.run = None
        self.kept = None

    def begin(self, run):
        self.run = (run.ticks_per_second, run.processes, run.locations)

    def call(self, call):
        self.kinds[self.region(call).name] += 1

    def collective(self, event):
        self.kinds[event.kind] += 1
        self.kept = event.call

    def barrier(self, event):
        self.kinds["explicit" if event.explicit else "implicit"] += 1

    def fork(self, event):
        self.kinds["fork"] += 1
        self.charge_at(event.location, event.path, event.delay)

    def finish(self):
        self.kinds["finish"] += 1


class Patterns(unittest.TestCase):
    def test_late_sender_is_that_of_refrain(self):
        for archive in (LATE, ORDER, HYBRID):
            found = refrain.analyze(archive, [LateAgain])
            numpy.testing.assert_array_equal(found.values("late_again"), found.values("mpi_latesender"))
            own = refrain.analyze(archive)
            for metric, seconds in own.metrics.items():
                self.assertEqual(found.metrics[metric], seconds)
        self.assertGreater(refrain.analyze(LATE, [LateAgain]).metrics["late_again"], LEAST / 2)

    def test_part_of_a_metric(self):
        rest = Rest()
        found = refrain.analyze(LATE, [rest])
        own = refrain.analyze(LATE)
        self.assertGreater(found.metrics["rest_of_receive"], 0)
        self.assertEqual(found.metrics["mpi_point2point"], own.metrics["mpi_point2point"])
        self.assertTrue(any(path[-1] == "MPI_Recv" for path in rest.paths))
        self.assertIn("rest_of_receive", found.experiment().totals())
        self.assertIn("rest_of_receive", found.text(all=True))
        # Of a reduced archive estimates, too; and views after them.
        reduced = refrain.analyze(REDUCED, [rest, LateAgain])
        self.assertGreater(reduced.json["gaps"], 0)
        self.assertIn("rest_of_receive", reduced.json["whole_run"])
        self.assertNotIn("late_again", reduced.json["whole_run"])
        self.assertIn("late_again", reduced.metrics)

    def test_events(self):
        seen = Seen()
        found = refrain.analyze(HYBRID, [seen])
        info = refrain.Archive(HYBRID).info()
        self.assertEqual(seen.run[1:], (info["processes"], info["threads"]))
        for region in info["summary"]["regions"]:
            if region["name"] in ("MPI_Allreduce", "MPI_Waitall"):
                self.assertEqual(seen.kinds[region["name"]], region["calls"])
        self.assertEqual(seen.kinds["finish"], 1)
        self.assertEqual(seen.kinds["finalize"], 2)
        self.assertGreater(seen.kinds["implicit"], 50)
        self.assertGreater(seen.kinds["fork"], 50)
        self.assertAlmostEqual(found.metrics["seen"], found.metrics["omp_fork"], delta=1e-9)
        self.assertRaises(refrain.Error, seen.kept.take, 1)
        self.assertRaises(refrain.Error, seen.charge, seen.kept, 1)

    def test_exceptions(self):
        for method in ("begin", "receive", "call", "finish"):
            try:
                refrain.analyze(LATE, [LateAgain, Raises(method)])
                self.fail("nothing is raised")
            except ZeroDivisionError as error:
                self.assertIn("in divide", "".join(traceback.format_tb(error.__traceback__)))
        self.assertRaises(TypeError, refrain.analyze, LATE, [int])

    def test_wrong_metrics(self):
        class Wrong(LateAgain):
            parent = "no_such"

        class Double(LateAgain):
            name = "mpi_latesender"

        class AtTheEnd(LateAgain):
            name = "critical_path"

        class Nameless(LateAgain):
            name = ""

        for wrong in (Wrong, Double, AtTheEnd, Nameless):
            with self.assertRaises(refrain.Error) as caught:
                refrain.analyze(LATE, [wrong])
            self.assertNotIn("\n", str(caught.exception))

    def test_another_archive_meanwhile(self):
        class Nested(refrain.Pattern):
            name = "nested"

            def begin(self, run):
                self.events = sum(len(chunk) for chunk in refrain.Archive(ORDER).events())

        nested = Nested()
        refrain.analyze(LATE, [nested])
        self.assertEqual(nested.events, sum(len(chunk) for chunk in refrain.Archive(ORDER).events()))

    def test_shared_objects(self):
        module = archives.data("waits/modules/good_module.so")
        found = refrain.analyze(LATE, modules=[module])
        numpy.testing.assert_array_equal(found.values("late_again"), found.values("mpi_latesender"))
        self.assertRaises(refrain.Error, refrain.analyze, LATE, modules=[archives.data("waits/modules/old_module.so")])


class Errors(unittest.TestCase):
    def check(self, read):
        with self.assertRaises(refrain.Error) as caught:
            read()
        self.assertNotIn("\n", str(caught.exception))
        self.assertTrue(str(caught.exception))

    def test_no_archive(self):
        none = os.path.join(archives.FOLDER, "none")
        for read in (refrain.Archive, refrain.analyze, refrain.Trace, refrain.read_experiment, refrain.Profile):
            self.check(lambda: read(none))

    def test_damaged(self):
        every = (
            lambda archive: refrain.analyze(archive),
            lambda archive: list(refrain.Archive(archive).events(chunk=100)),
            lambda archive: list(refrain.Archive(archive).trace()),
            lambda archive: refrain.Archive(archive).profile(from_events=True),
        )
        events = archives.damaged(HYBRID, "cut-events", "traces/*.evt", 0.5)
        names = archives.damaged(HYBRID, "cut-names", "traces.def", 0.99)
        for read, archive in itertools.product(every, (events, names)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                read(archive)
            self.assertTrue(any("can be read" in str(each.message) for each in caught))
            self.assertTrue(all("\n" not in str(each.message) for each in caught))
        definitions = archives.damaged(HYBRID, "cut-definitions", "traces.def", 0.1)
        for read in every + (refrain.Archive,):
            self.check(lambda: read(definitions))
        anchor = archives.damaged(HYBRID, "cut-anchor", "traces.otf2", 0.5)
        for read in every + (refrain.Archive,):
            self.check(lambda: read(anchor))
        summary = archives.damaged(HYBRID, "cut-summary", "summary/*.json", 0.5)
        with self.assertWarnsRegex(RuntimeWarning, "is not a summary"):
            self.assertEqual(refrain.Archive(summary).profile().json["source"], "events")
        self.check(lambda: refrain.Archive(summary).iterations())
        self.check(lambda: refrain.Archive(summary).event_flow())

    def test_another_tool(self):
        archive = refrain.Archive(FOREIGN)
        self.assertFalse(archive.of_refrain)
        self.check(archive.info)
        self.assertEqual(sum(len(chunk) for chunk in archive.events(chunk=100)), sum(1 for _ in archive.trace()))
        next(archive.events()).frame()

    def test_without_pandas(self):
        script = (
            "import sys; sys.modules['pandas'] = None; import refrain\n"
            f"analysis = refrain.analyze({LATE!r})\n"
            "assert analysis.values('time').sum() > 0\n"
            "try:\n"
            "    analysis.frame('time')\n"
            "except refrain.Error as error:\n"
            "    print(error)\n"
        )
        said = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertIn("python3-pandas", said)


if __name__ == "__main__":
    try:
        unittest.main(verbosity=0)
    finally:
        archives.remove()
