"""Test programs, built by the users' compilers and without flags of this build.

Compilers are named explicitly, so that a sanitizer or optimisation configuration of
Refrain itself does not touch the programs that it traces.
"""

load("@mpis//:mpis.bzl", "MPIS")
load("@system//:openmp.bzl", "CLANG_OPENMP")

# With its OpenMP, wherever that is.
CLANG = "clang-19 " + CLANG_OPENMP

_COMPILERS = {
    "c": {
        "clang": CLANG + " -std=gnu11",
        "gcc": "gcc -std=gnu11",
    },
    "cc": {
        "clang": "clang++-19 %s -std=c++20" % CLANG_OPENMP,
        "gcc": "g++ -std=c++20",
    },
    "f90": {
        "gfortran": "gfortran",
    },
    "F90": {
        "gfortran": "gfortran",
    },
}

# By names that Debian's alternatives do not redirect to another MPI (Open MPI's Fortran libraries have to be named). Two of
# gcc's warnings do not understand MPI: MPI_STATUSES_IGNORE is no array, and mpif.h defines
# more than a program uses.
_MPI_COMPILERS = {
    "mpich": {
        "c": {
            "clang": "mpicc.mpich -cc=clang-19 %s -std=gnu11" % CLANG_OPENMP,
            "gcc": "mpicc.mpich -cc=gcc -std=gnu11 -Wno-stringop-overflow",
        },
        "cc": {
            "gcc": "mpicxx.mpich -cxx=g++ -std=c++20",
        },
        "f90": {
            "gfortran": "mpifort.mpich -Wno-unused-parameter",
        },
    },
    "openmpi": {
        "c": {
            "clang": "OMPI_CC=clang-19 mpicc.openmpi %s -std=gnu11" % CLANG_OPENMP,
            "gcc": "OMPI_CC=gcc mpicc.openmpi -std=gnu11",
        },
        "cc": {
            "gcc": "OMPI_CXX=g++ mpicxx.openmpi -std=c++20",
        },
        "f90": {
            "gfortran": "OMPI_FC=gfortran mpifort.openmpi -L/usr/lib/x86_64-linux-gnu/openmpi/lib -Wno-unused-parameter",
        },
    },
}

# Ranks that poll give the processor away.
_YIELD = "//test/programs/mpi:yield.o"

_FLAGS = "-Wall -Wextra -Werror -g -O2"

_OPENMP = " -fopenmp"

# Paths in the debug information stay relative to the workspace.
_PREFIX_MAP = "-fdebug-prefix-map=$PWD=."

def _compiled_impl(ctx):
    output = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.run_shell(
        inputs = [ctx.file.src] + ctx.files.hdrs + ctx.files.deps,
        outputs = [output],
        command = " ".join(
            [ctx.attr.command, _PREFIX_MAP, ctx.file.src.path, "-o", output.path] +
            [ctx.expand_location(option, ctx.attr.deps) for option in ctx.attr.linkopts],
        ),
        mnemonic = "CompileTestProgram",
        use_default_shell_env = True,
    )
    return [DefaultInfo(executable = output, files = depset([output]))]

compiled = rule(
    doc = "One source, compiled and linked by its own command line.",
    implementation = _compiled_impl,
    executable = True,
    attrs = {
        "src": attr.label(allow_single_file = True, mandatory = True),
        "hdrs": attr.label_list(allow_files = True),
        "command": attr.string(mandatory = True, doc = "Compiler and its flags."),
        "deps": attr.label_list(allow_files = True, doc = "Files that linkopts name."),
        "linkopts": attr.string_list(doc = "Comes last; $(location ...) of deps."),
    },
)

def plain_program(name, src, suffix = "", flags = "", linkopts = [], **kwargs):
    """The same of a program without OpenMP.

    Args:
      name: as below.
      src: as below.
      suffix: as below.
      flags: further ones of the compiler, with a blank before them.
      linkopts: as below.
      **kwargs: as below.
    """
    _programs(_COMPILERS, " " + flags, name, src, suffix, linkopts, **kwargs)

def openmp_program(name, src, suffix = "", flags = "", linkopts = [], **kwargs):
    """Makes <name>_<compiler><suffix> for every compiler of the source's language.

    Args:
      name: of the program.
      src: its source; the ending shows the language.
      suffix: of the programs' names, where a source is built in several ways.
      flags: further ones of the compiler.
      linkopts: what comes last on the linker's line.
      **kwargs: further attributes of all the targets.
    """
    _programs(_COMPILERS, _OPENMP + " " + flags, name, src, suffix, linkopts, **kwargs)

def mpi_program(
        name,
        src,
        openmp = False,
        mpis = ["mpich"],
        suffix = "",
        flags = "",
        linkopts = [],
        **kwargs):
    """The same of a program that uses MPI; pure MPI, or with OpenMP, too.

    Linked with MPICH it has that name, with Open MPI `_openmpi` behind it (where that is installed).

    Args:
      name: as above.
      src: as above.
      openmp: whether it uses OpenMP.
      mpis: the MPI libraries that it is made for.
      suffix: as above.
      flags: further ones of the compiler.
      linkopts: as above.
      **kwargs: as above.
    """
    flags = (_OPENMP if openmp else "") + " " + flags
    deps = kwargs.pop("deps", []) + [_YIELD]
    linkopts = ["$(location %s)" % _YIELD] + linkopts
    for mpi in [mpi for mpi in MPIS if mpi in mpis]:
        end = suffix + ("" if mpi == "mpich" else "_" + mpi)
        _programs(_MPI_COMPILERS[mpi], flags, name, src, end, linkopts, deps = deps, **kwargs)

def _programs(compilers, flags, name, src, suffix, linkopts, **kwargs):
    for compiler, command in compilers[src.rpartition(".")[2]].items():
        compiled(
            name = "%s_%s%s" % (name, compiler, suffix),
            src = src,
            command = command + " " + _FLAGS + flags,
            linkopts = linkopts + ["-lm"],
            **kwargs
        )
