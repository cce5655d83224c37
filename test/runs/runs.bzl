"""The runs that the build records, by the test of //test/end_to_end that reads them; equal ones are one.

A test that misses one prints the line for it. The long form of the tests (REFRAIN_TEST_LENGTH=long) has more cases: what
is not listed, the test traces itself.
"""

load("@system//:openmp.bzl", "LIBOMP_FOLDER")
load("//tools/bazel:recorded_run.bzl", "recorded_run")

def _name(program, arguments, who, settings, environment):
    # name_of_run() of run_program.h makes the same; recording fails if it does not.
    words = ["-" + _as_name(argument) for argument in arguments]
    values = ["_%s=%s" % (name, _as_name(value)) for each in [settings, environment] for name, value in sorted(each.items())]
    return program.rpartition("/")[2] + "".join(words) + who + "".join(values)

def _as_name(text):
    return "".join([c if c.isalnum() or c in ".+=,-" else "_" for c in text.elems()])

def _run(folder, program, arguments, ranks, threads, outside, environment, status, settings):
    words = arguments.split(" ") if arguments else []
    who = ("_n%d%s" % (ranks, "o" if outside else "") if ranks else "") + "_t%d" % threads
    home, _, file = program.rpartition("/")
    return struct(
        name = _name(program, words, who, settings, environment),
        attributes = dict(
            arguments = words,
            environment = environment,
            outside = outside,
            program = "//test/programs%s:%s" % ("/" + home if home else folder, file),
            ranks = ranks,
            settings = settings,
            status = status,
            threads = threads,
        ),
    )

def openmp(program, arguments = "", threads = 2, environment = {}, status = 0, **settings):
    """A program of //test/programs, or with a directory before it of one below.

    Args:
      program: its name.
      arguments: with blanks between them.
      threads: OMP_NUM_THREADS.
      environment: further variables.
      status: that it ends with.
      **settings: of `refrain run`, by their names in the environment without REFRAIN_.

    Returns:
      the run.
    """
    return _run("", program, arguments, 0, threads, False, environment, status, settings)

def mpi(program, arguments = "", ranks = 2, threads = 1, outside = False, environment = {}, status = 0, **settings):
    """The same of //test/programs/mpi, under mpirun of MPICH.

    Args:
      program: as above.
      arguments: as above.
      ranks: processes.
      threads: of each.
      outside: `refrain run` starts mpirun, not mpirun `refrain run`.
      environment: as above.
      status: as above.
      **settings: as above.

    Returns:
      the run.
    """
    return _run("/mpi", program, arguments, ranks, threads, outside, environment, status, settings)

def _loops_of(events, limit):
    # find_loops_of() of traced.h.
    return dict(DETECTOR = "exact", LIMIT = str(limit), MAX_PERIOD = str(events), MIN_GAP = "0", SLOW_FACTOR = "0", WINDOW = str(events))

_FULL = {"LIMIT": "0"}

_REDUCED = {"LIMIT": "3", "MIN_GAP": "0"}

# openmp_matrix() and mpi_matrix() of run_matrix.h.
_OPENMP_MATRIX = [("cg_clang", 1), ("tasks_clang", 2), ("shortloop_gcc", 1)]

_MPI_MATRIX = [
    ("ring_gcc", 1),
    ("halo_clang", 2),
    ("halo_clang", 4),
    ("sweep_clang", 2),
    ("sweep_clang", 4),
    ("allreduce_gcc", 2),
    ("onesided_gcc", 1),
    ("icollective_gcc", 1),
    ("rowcol_cg_gcc", 4),
    ("hybrid_clang", 1),
    ("hybrid_clang", 4),
]

def _mpi_matrix(outside, settings):
    return [
        mpi(program, ranks = ranks, threads = 2 if program.startswith("hybrid") else 1, outside = outside, GRAPH = "partner,size", **settings)
        for program, ranks in _MPI_MATRIX
    ]

_FULL_OPENMP = [openmp(program, threads = threads, **_FULL) for program, threads in _OPENMP_MATRIX]

_FULL_MPI = _mpi_matrix(True, _FULL)

_REDUCED_MPI = _mpi_matrix(False, _REDUCED)

_COUNTERS = {"COUNTERS": "sde:::demo::mine,sde:::demo::all", "MIN_GAP": "0"}

_COUNTERS_EXACT = dict(_COUNTERS, SLOW_FACTOR = "0")

# Loops of one level, by the regions of the program.
_REGIONS_8 = dict(_loops_of(8, 10), SYMBOLS = "parallel")

_PARAVER = {"FORMAT": "otf2,paraver", "LIMIT": "3", "MIN_GAP": "0"}

# What is written does not depend on time.
_STEADY = {"MIN_GAP": "0", "SLOW_FACTOR": "0"}

_RANKS = dict(_STEADY, GRAPH = "call")

_BOTH = ["clang", "gcc"]

RUNS = {
    "activations_test": [mpi(program, DETECTOR = "activation", MIN_GAP = "0") for program in [
        "counted_do_gfortran",
        "driver_gcc",
        "nests_clang",
        "nests_clang_plain",
        "nests_gcc",
        "nests_gcc_plain",
        "turns_clang",
        "turns_gcc",
    ]] + [openmp(program + "_" + compiler, DETECTOR = "activation", MIN_GAP = "0") for program in ["locked", "parts", "thrown"] for compiler in _BOTH],
    "change_test": [openmp("phases_" + compiler, "40 60 50 30", **_REGIONS_8) for compiler in _BOTH] + [
        openmp("irregular_clang", SYMBOLS = "parallel", **_loops_of(8, 3)),
        openmp("cg_clang", "60 64 60", RING = "24K", SYMBOLS = "parallel", **_loops_of(320, 2)),
    ],
    "compare_test": [openmp(program, LIMIT = limit, MIN_GAP = "0", SLOW_FACTOR = "0") for limit in ["0", "10"] for program in [
        "cg_gcc",
        "heat_gfortran",
        "jacobi_clang",
        "jacobi_gcc",
    ]] + [mpi(program, "60", DETECTOR = "nested", LIMIT = limit, MIN_GAP = gap) for limit in ["0", "10"] for program, gap in [
        ("halo_gcc", "0"),
        ("sweep_gcc", "1ms"),
    ]] + [openmp("user/counters_gcc_openmp", "60", LIMIT = limit, **_COUNTERS_EXACT) for limit in ["0", "4"]] + [
        openmp(program, LIMIT = "0", MIN_GAP = "0")
        for program in ["cg_gcc", "jacobi_gcc"]
    ] + [
        openmp("exitcode_gcc", "return 0 1"),
        openmp("jacobi_gcc", LIMIT = "0"),
    ],
    "completeness_test": [openmp(program, LIMIT = "0") for program in [
        "cg_clang",
        "constructs_clang",
        "constructs_gcc",
        "exitcode_gcc",
        "heat_gfortran",
        "irregular_gcc",
        "particles_clang",
        "tasks_clang",
        "tasks_gcc",
        "threads_clang",
        "threads_gcc",
    ]] + [
        openmp("constructs_" + compiler, environment = {"OMP_CANCELLATION": "true"}, LIMIT = "0")
        for compiler in _BOTH
    ] + [
        openmp("norepeat_" + compiler, order + " 1000", DETECTOR = "nested", LIMIT = limit, MIN_GAP = "0")
        for order in ["distinct", "squarefree", "random"]
        for compiler in _BOTH
        for limit in ["0", "1"]
    ],
    "convert_command_test": [openmp(program, **_PARAVER) for program in [
        "cg_clang",
        "constructs_clang",
        "tasks_gcc",
    ]] + [mpi(program, ranks = ranks, **_PARAVER) for program, ranks in [
        ("halo_gcc", 2),
        ("halo_gcc", 4),
        ("persistent_gcc", 2),
        ("sweep_gcc", 2),
    ]] + [
        openmp("cg_clang"),
        openmp("cg_clang", FORMAT = "paraver"),
    ],
    "counters_traced_test": [
        openmp("user/counters_%s_openmp" % compiler, "60", LIMIT = limit, **_COUNTERS_EXACT)
        for compiler in _BOTH
        for limit in ["0", "4"]
    ] + [
        openmp("user/counters_gcc", "60", threads = 1, LIMIT = "4", **_COUNTERS_EXACT),
        openmp("user/counters_gcc_openmp", "60", COUNTERS_AT = "all", LIMIT = "0", **_COUNTERS_EXACT),
        openmp("user/counters_gcc_openmp", "60", LIMIT = "4", COUNTERS = "no_such_counter", **_STEADY),
        openmp(
            "user/counters_gcc_openmp",
            "60",
            LIMIT = "4",
            COUNTERS = "no_such_counter, page_faults,minor_faults,major_faults,sde:::demo::mine," +
                       "context_switches,voluntary_switches,involuntary_switches,user_time",
            **_STEADY
        ),
    ] + [mpi("user/" + program, "60", threads = 2, LIMIT = "4", **_COUNTERS_EXACT) for program in [
        "counters_clang_hybrid",
        "counters_gcc_mpi",
    ]] + [
        mpi("user/stages_" + compiler, "40", ranks = 3, LIMIT = limit, **_STEADY)
        for compiler in _BOTH
        for limit in ["0", "5"]
    ],
    "cube_test": [openmp("cg_clang", "200 64 8", LIMIT = limit) for limit in ["0", "10"]] + [
        openmp("nested_clang", threads = 3, LIMIT = "2"),
        openmp("tasks_clang", threads = 3, LIMIT = "2"),
        mpi("halo_gcc", LIMIT = "0"),
        mpi("halo_gcc", LIMIT = "0", **_STEADY),
        mpi("halo_gcc", LIMIT = "5"),
        mpi("halo_gcc", LIMIT = "5", **_STEADY),
        mpi("hybrid_clang", threads = 2, LIMIT = "0"),
        mpi("hybrid_clang", threads = 2, LIMIT = "5"),
        mpi("hybrid_clang", threads = 2, LIMIT = "5", **_STEADY),
    ],
    "flow_test": _FULL_MPI + _REDUCED_MPI + [
        mpi("halo_gcc", ranks = 4, outside = True, LIMIT = "3"),
        mpi("ring_gcc", outside = True, GRAPH = "call"),
        mpi("ring_gcc", outside = True, GRAPH = "none"),
        mpi("torus_clang", ranks = 4, outside = True, GRAPH = "partner", LIMIT = "3"),
    ],
    "graph_choice_test": [
        openmp("cg_clang", "2"),
        openmp("cg_clang", "20 64 5", LIMIT = "3"),
        mpi("halo_gcc", "20", ranks = 4, outside = True),
    ],
    "graph_test": [
        openmp("cg_clang", "20 64 5", LIMIT = "3"),
        openmp("cg_clang", "60 64 8", LIMIT = "2", MIN_GAP = "0"),
        openmp("cg_clang", "76 64 8", LIMIT = "10"),
        openmp("cg_clang", threads = 1, LIMIT = "0"),
        openmp("irregular_clang", LIMIT = "0"),
        mpi("differ_gcc", "24 18 3", ranks = 4, LIMIT = "3"),
        mpi("hybrid_clang", threads = 2, LIMIT = "0"),
        mpi("ring_gcc", ranks = 3, LIMIT = "0"),
        mpi("ring_gcc", ranks = 3, LIMIT = "4"),
    ],
    "iteration_rows_test": _FULL_OPENMP + _FULL_MPI + [
        openmp("shortloop_gcc", "20000 100", threads = threads, DETECTOR = "nested", LIMIT = "10", MIN_GAP = "0", SUMMARY_ITERATIONS = rows)
        for threads in [1, 2]
        for rows in ["100", "4096"]
    ] + [openmp("user/counters_clang_openmp", "60", LIMIT = limit, **_COUNTERS_EXACT) for limit in ["0", "4"]] + [
        openmp("cg_clang", LIMIT = "3"),
        openmp("cg_clang", SUMMARY_ITERATIONS = "0"),
        openmp("user/counters_gcc", "60", threads = 1, LIMIT = "4", **_COUNTERS),
    ],
    "iterations_test": [
        openmp("cg_clang", **_REGIONS_8),
        openmp("cg_clang", **dict(_REGIONS_8, LIMIT = "0")),
        openmp("cg_clang", threads = 4, SYMBOLS = "auto", **_loops_of(16, 10)),
        openmp("cg_gcc", SYMBOLS = "parallel", **_loops_of(150, 10)),
        openmp("irregular_clang", "6000 0", SYMBOLS = "auto", **_loops_of(64, 10)),
        openmp("jacobi_clang", SYMBOLS = "auto", **_loops_of(100, 3)),
        openmp("jacobi_clang", threads = 4, SYMBOLS = "auto", **_loops_of(16, 5)),
        openmp("jacobi_gcc", threads = 4, SYMBOLS = "auto", **_loops_of(16, 10)),
    ] + [
        openmp("cg_clang", NESTED = nested, **dict(_REGIONS_8, LIMIT = limit))
        for nested in ["first", "each"]
        for limit in ["1", "2", "10"]
    ],
    "loop_places_test": [openmp(program, MIN_GAP = "0") for program in [
        "stepper_clang",
        "stepper_f_gfortran",
        "stepper_gcc",
    ]] + [openmp("stepper_gcc", LIMIT = limit) for limit in ["0", "2", "10"]] + [openmp("in_a_row_gcc"), openmp("particles_gcc")],
    "loops_exact_test": [openmp(program + "_clang", "20", threads = 1) for program in [
        "cg",
        "converge",
        "jacobi",
        "phases",
    ]],
    "messages_test": _FULL_MPI + _REDUCED_MPI + [
        mpi("halo_gcc", "100 64 16", ranks = ranks, outside = True, **dict(_REDUCED, LIMIT = "10"))
        for ranks in [2, 4]
    ] + [mpi(program, ranks = 4, outside = True, LIMIT = "0") for program in [
        "onesided_gcc",
        "waits_gcc",
    ]] + [
        mpi("halo_gcc", "20", outside = True, LIMIT = "0"),
        mpi("halo_gcc", "20", outside = True, GRAPH = "none", LIMIT = "0"),
        mpi("halo_gcc", "20", outside = True, GRAPH = "partner", LIMIT = "0"),
        mpi("halo_gcc", "20", outside = True, GRAPH = "partner", SUMMARY_ONLY = "yes"),
        mpi("halo_gcc", "5", outside = True),
    ],
    "mpi_traced_test": [mpi(program, ranks = 4, threads = threads, outside = True, LIMIT = "0") for program, threads in [
        ("allreduce_gcc", 1),
        ("hybrid_gcc", 2),
        ("phases_gcc", 1),
        ("sweep_gcc", 1),
    ]] + [mpi(program, ranks = 4, threads = threads, outside = outside, **_REDUCED) for program, threads, outside in [
        ("allreduce_gcc", 1, False),
        ("allreduce_gcc", 1, True),
        ("hybrid_gcc", 2, False),
        ("phases_gcc", 1, True),
        ("sweep_gcc", 1, False),
    ]] + [mpi(program, ranks = 4, SLOW_FACTOR = "0", **_REDUCED) for program in [
        "anysource_gcc",
        "nocollective_gcc",
        "ring_f08_gfortran",
    ]] + [
        mpi("ring_gcc", "700 100 4 -1 0 150 400", SLOW_SHARE = "1", **_REDUCED),
        mpi("threaded_gcc", "40 posix", threads = 2, LIMIT = "0", MIN_GAP = "0"),
        mpi("timing_gcc", "1 1 0 0 3000", SLOW_FACTOR = "0", **_REDUCED),
        mpi("timing_gcc", "20 30 10", SLOW_FACTOR = "0", **_REDUCED),
    ],
    "nested_test": [
        openmp("amr_gcc", "400", LIMIT = "0", MIN_GAP = "0"),
        openmp("amr_gcc", "400", LIMIT = "3", MIN_GAP = "0"),
        openmp("cg_clang", "40", LIMIT = "5", **_STEADY),
        openmp("cg_clang", "75"),
        openmp("cg_clang", "75", LIMIT = "0", MIN_GAP = "0"),
        openmp("cg_clang", "75", LIMIT = "3", MIN_GAP = "0"),
        openmp("cg_clang", "75", LIMIT = "6", **_STEADY),
        openmp("cg_clang", "75", MARKS = "all", **_STEADY),
        openmp("cg_clang", "75", NESTED = "each", **_STEADY),
        openmp("cg_clang", "75", NESTED = "once", **_STEADY),
        openmp("converge_clang", "100"),
        openmp("converge_clang", "300", MARKS = "summary", **_STEADY),
        openmp("converge_clang", "410 2000 50 200000", LIMIT = "5", MIN_GAP = "0", SLOW_SHARE = "1"),
        openmp("phases_clang", "40 60 50 30", SYMBOLS = "parallel", **_STEADY),
    ],
    # libomptarget looks for libomp.so there to find the tool.
    "offload_test": [
        openmp("offload_clang", rounds, environment = {"LD_LIBRARY_PATH": LIBOMP_FOLDER}, LIMIT = limit, **_STEADY)
        for rounds, limit in [("2", "0"), ("4", "0"), ("40", "3")]
    ] + [openmp("jacobi_clang", LIMIT = "0")],
    "parallel_analysis_test": [
        mpi("waits/" + program, arguments, ranks = ranks, environment = {"OMP_WAIT_POLICY": "passive"}, LIMIT = "0")
        for program, arguments, ranks in [
            ("waits_mpi_clang", "coll:scan:rising 2", 4),
            ("waits_mpi_clang", "p2p:issend:waitall:sender 2", 4),
            ("waits_mpi_clang", "rma:fence 2", 2),
            ("wavefront_clang", "2 3 2", 4),
        ]
    ] + [
        openmp("cg_clang"),
        mpi("halo_gcc", "200", ranks = 3),
        mpi("halo_gcc", "300", ranks = 3, LIMIT = "0"),
    ],
    "profile_test": [
        openmp("cg_clang", "2"),
        openmp("cg_clang", LIMIT = "0"),
        openmp("cg_clang", LIMIT = "10", SLOW_FACTOR = "0"),
        mpi("hybrid_clang", threads = 2, LIMIT = "0"),
        mpi("hybrid_clang", threads = 2, LIMIT = "2"),
    ],
    "python_docs_test": [
        mpi("hybrid_gcc", "60 200", threads = 2, outside = True, LIMIT = "5"),
        mpi("waits/waits_mpi_gcc", "coll:barrier:last 320", threads = 2, outside = True, LIMIT = "0"),
        mpi("waits/waits_mpi_gcc", "p2p:send:recv:sender 320", threads = 2, outside = True, LIMIT = "0"),
    ],
    "python_module_test": [
        mpi("hybrid_gcc", "30 200", threads = 2, outside = True, LIMIT = "0"),
        mpi("hybrid_gcc", "60 200", threads = 2, outside = True, LIMIT = "5"),
        mpi("waits/waits_mpi_gcc", "order:same 320", ranks = 3, threads = 2, outside = True, LIMIT = "0"),
        mpi("waits/waits_mpi_gcc", "p2p:isend:any:sender 320", threads = 2, outside = True, LIMIT = "0"),
        openmp("waits/waits_omp_gcc", "barrier:last 20", LIMIT = "0"),
    ],
    "python_types_test": [mpi("hybrid_gcc", "30 200", threads = 2, outside = True, LIMIT = "0")],
    "ranks_test": [
        mpi(program, arguments, ranks = 4, outside = True, **dict(_RANKS, **settings))
        for program, arguments, all in [
            ("allreduce_gcc", "", {"LIMIT": "3"}),
            ("halo_gcc", "", {"LIMIT": "0"}),
            ("halo_gcc", "400", {"LIMIT": "0"}),
            ("halo_gcc", "3000 4 4", {"BUDGET": "200K", "MARKS": "summary"}),
        ]
        for settings in [all, dict(all, RANKS = "representatives")]
    ] + [mpi(program, ranks = 4, LIMIT = "3", RANKS = "representatives=" + each, **_RANKS) for program, each in [
        ("icollective_gcc", "1"),
        ("phases_gcc", "1"),
        ("sweep_gcc", "2"),
        ("workers_gcc", "2"),
    ]] + [
        mpi("ring_gcc", arguments, ranks = ranks, outside = True, **dict(_RANKS, **settings))
        for arguments, ranks, settings in [
            ("", 1, {"LIMIT": "3", "RANKS": "representatives"}),
            ("", 4, {"GRAPH": "none", "LIMIT": "3", "RANKS": "representatives"}),
            ("", 4, {"LIMIT": "0", "RANKS": "representatives=2"}),
            ("", 4, {"LIMIT": "3", "RANKS": "representatives", "SUMMARY_MEMORY": "0"}),
            ("", 4, {"LIMIT": "3", "RANKS": "representatives", "SUMMARY_ONLY": "yes"}),
            ("", 4, {"LIMIT": "3", "RANKS": "representatives=4"}),
            # Rank 2 cannot open a file at the end.
            ("20 100 4 -1 0 0 0 2", 4, {"LIMIT": "0", "RANKS": "representatives=2"}),
        ]
    ] + [
        openmp("cg_clang", "2", RANKS = "representatives"),
        mpi("halo_clang", ranks = 4, GRAPH = "site,callers,partner,size", LIMIT = "3", RANKS = "representatives", **_STEADY),
    ],
    "report_page_test": [
        openmp("cg_clang", "60 30000", environment = {"KMP_BLOCKTIME": "0"}, LOOPS = "200"),
        mpi("halo_gcc", "40", threads = 2),
        mpi("hybrid_gcc", "30", threads = 2),
        # Two visits of one loop.
        openmp("phases_clang"),
        # In full: a range that is the whole run has the flow graph of the summary.
        mpi("hybrid_gcc", "5", threads = 2, LIMIT = "0"),
    ],
    "report_test": [
        openmp("cg_clang", "2"),
        openmp("cg_clang", "2", SUMMARY_ONLY = "yes"),
        openmp("cg_clang", "20"),
        mpi("hybrid_gcc", threads = 2),
        mpi("hybrid_gcc", threads = 2, LIMIT = "5"),
    ],
    "sampled_loops_test": [openmp("loops/" + program, arguments, LOOPS = "1000") for program, arguments in [
        ("sampled_gcc", "2000 serial"),
        ("sampled_gcc", "2000 threads"),
        ("sampled_gcc", "200"),
        ("sampled_gcc", "100 blocked echo"),
        ("sampled_gcc", "100 own-signals echo"),
        ("sampled_gcc", "100 fork echo"),
        ("sampled_gcc", "100 exec echo"),
        ("sampled_gcc", "400 waits"),
        ("sampled_stripped", "400"),
    ]] + [openmp("cg_" + compiler, "60 20000 10", LOOPS = "1000") for compiler in _BOTH] + [
        mpi("hybrid_gcc", "3000 100000", threads = 2, outside = outside, LOOPS = "1000")
        for outside in [False, True]
    ] + [openmp("cg_clang", "5")],
    "scaling_test": [
        mpi("halo_gcc", "60 800 400", ranks = ranks, **settings)
        for ranks in [1, 2]
        for settings in [{"LIMIT": "0", "MIN_GAP": "0"}, {"LIMIT": "5", "MIN_GAP": "0"}, {"SUMMARY_ONLY": "yes"}]
    ] + [mpi("ring_gcc", ranks = 3, LIMIT = "0")],
    "size_test": [
        openmp(program, arguments, SYMBOLS = "parallel", **_loops_of(128, limit))
        for program, arguments, limit in [
            ("cg_clang", "10000 64 8", 0),
            ("cg_clang", "10000 64 8", 10),
            ("cg_clang", "3000 64 8", 10),
            ("cg_clang", "9000 64 8", 10),
            ("shortloop_clang", "3000 100 20", 10),
            ("shortloop_clang", "9000 100 20", 10),
        ]
    ],
    "summary_only_test": [openmp(program, **settings) for settings in [_FULL, {"SUMMARY_ONLY": "yes"}] for program in [
        "cg_clang",
        "cg_gcc",
        "heat_gfortran",
        "phases_gcc",
        "shortloop_gcc",
    ]] + [
        mpi(program, threads = threads, **settings)
        for settings in [_FULL, {"SUMMARY_ONLY": "yes"}]
        for program, threads in [
            ("halo_gcc", 1),
            ("hybrid_clang", 2),
            ("persistent_gcc", 1),
        ]
    ],
    "summary_test": _FULL_OPENMP + _FULL_MPI + _REDUCED_MPI + [
        openmp(program, threads = threads, **_REDUCED)
        for program, threads in _OPENMP_MATRIX
    ] + [
        openmp(program, threads = threads, LIMIT = "0", MIN_GAP = "0", SUMMARY_MEMORY = memory)
        for program, threads, memory in [
            ("cg_clang", 2, "0"),
            ("cg_clang", 2, "8K"),
            ("tasks_clang", 1, "24K"),
        ]
    ],
    "transparency_test": [
        openmp("%s_%s" % (program, compiler), LIMIT = limit)
        for program in [
            "cg",
            "constructs",
            "irregular",
            "jacobi",
            "mutexes",
            "nested",
            "norepeat",
            "particles",
            "phases",
            "tasks",
            "threads",
        ]
        for compiler in _BOTH
        for limit in ["0", "10"]
    ] + [openmp("cg_" + compiler, "3", LIMIT = "0") for compiler in _BOTH] + [
        openmp("threads_clang", "0 1 48", MEMORY_LIMIT = "32M"),
    ],
}

# Of all that recorded_test reads.
CHECKED_PARTS = 4

# Only their size matters: too large to be read by all readers.
_NOT_CHECKED = ["size_test"]

def label_of(run):
    """Where it is recorded."""
    return "//test/runs:" + run.name

def declare_runs(runs_of):
    """All runs, and for each test those that it reads.

    Args:
      runs_of: runs by test.
    """
    runs = {}
    for test, all in runs_of.items():
        for run in all:
            if runs.setdefault(run.name, run.attributes) != run.attributes:
                fail("two runs have the name " + run.name)
        native.filegroup(
            name = test,
            testonly = True,
            srcs = {":" + run.name: None for run in all}.keys(),
            visibility = ["//test:__subpackages__"],
        )
    for name, attributes in runs.items():
        recorded_run(name = name, testonly = True, tags = ["manual"], visibility = ["//test:__subpackages__"], **attributes)
    checked = {run.name: None for test, all in runs_of.items() if test not in _NOT_CHECKED for run in all}.keys()
    for part in range(CHECKED_PARTS):
        native.filegroup(
            name = "checked_%d" % part,
            testonly = True,
            srcs = [":" + name for name in checked[part::CHECKED_PARTS]],
            visibility = ["//test:__subpackages__"],
        )
