"""Recorded runs: archives of test programs, made once by the build and read by many tests.

    recorded_run(
        name = "halo_gcc-20_n4_t1_LIMIT=0",     # name_of_run() says what it must be
        program = "//test/programs/mpi:halo_gcc",
        arguments = ["20"],
        ranks = 4,
        settings = {"LIMIT": "0"},
    )

Its output is a directory with `archive`, and what the program printed and returned (`output`, `errors`, `status`). The
action fails if the program does. Where a test is built with a sanitizer the variables come from --action_env.
"""

load("@system//:openmp.bzl", "LIBOMP_FOLDER")

def _recorded_run_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    program = ctx.executable.program
    ranks = ctx.attr.ranks
    home = program.short_path.rpartition("/")[0]
    plain = home == ("test/programs/mpi" if ranks else "test/programs")
    words = [
        folder.path,
        ctx.label.name,
        str(ctx.attr.status),
        program.basename if plain else program.short_path,
        str(ctx.attr.threads),
        str(ranks),
        "outside" if ctx.attr.outside else "inside",
    ]
    words += ["%s=%s" % item for item in sorted(ctx.attr.settings.items())] + ["--"]
    words += ["%s=%s" % item for item in sorted(ctx.attr.environment.items())] + ["--"]
    ctx.actions.run(
        executable = ctx.executable._record,
        arguments = words + ctx.attr.arguments,
        inputs = [program] + ctx.files._tracer,
        outputs = [folder],
        env = dict(
            ctx.configuration.default_shell_env,
            REFRAIN_LIBOMP = LIBOMP_FOLDER + "/libomp.so.5",
            TEST_SRCDIR = ctx.bin_dir.path,
            TEST_WORKSPACE = ".",
        ),
        mnemonic = "RecordRun",
        progress_message = "Recording " + ctx.label.name,
    )
    return [DefaultInfo(files = depset([folder]), runfiles = ctx.runfiles([folder]))]

recorded_run = rule(
    implementation = _recorded_run_impl,
    attrs = {
        "arguments": attr.string_list(),
        "environment": attr.string_dict(),
        "outside": attr.bool(doc = "`refrain run` starts mpirun, not mpirun `refrain run`."),
        "program": attr.label(allow_single_file = True, cfg = "target", executable = True, mandatory = True),
        "ranks": attr.int(doc = "Of MPI; 0: without."),
        "settings": attr.string_dict(doc = "By their names in the environment without REFRAIN_."),
        "status": attr.int(doc = "That the program ends with."),
        "threads": attr.int(default = 2),
        "_record": attr.label(default = "//test/runs:record", cfg = "target", executable = True),
        "_tracer": attr.label_list(allow_files = True, default = [
            "//test/end_to_end:libomp.lsan",
            "//test/end_to_end:libomp.tsan",
            "//tools:refrain",
            "//tracer:librefrain.so",
            "//tracer:librefrain_mpich.so",
        ]),
    },
)
