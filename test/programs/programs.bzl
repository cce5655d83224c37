"""Test programs, built by the compilers that users have and without flags of this build.

Compilers are named explicitly, so that a sanitizer or optimisation configuration of
Refrain itself does not touch the programs that it traces.
"""

_COMPILERS = {
    "c": {
        "clang": "clang-19 -std=gnu11",
        "gcc": "gcc -std=gnu11",
    },
    "cc": {
        "clang": "clang++-19 -std=c++20",
        "gcc": "g++ -std=c++20",
    },
    "f90": {
        "gfortran": "gfortran",
    },
}

_FLAGS = "-Wall -Wextra -Werror -g -O2 -fopenmp"

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
    doc = "One source, compiled and linked by a command line of one's own.",
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

def openmp_program(name, src, suffix = "", linkopts = [], **kwargs):
    """Makes <name>_<compiler><suffix> for every compiler of the source's language.

    Args:
      name: of the program.
      src: its source; the ending tells the language.
      suffix: of the programs' names, where a source is built in several ways.
      linkopts: what comes last on the linker's line.
      **kwargs: further attributes of all the targets.
    """
    for compiler, command in _COMPILERS[src.rpartition(".")[2]].items():
        compiled(
            name = "%s_%s%s" % (name, compiler, suffix),
            src = src,
            command = command + " " + _FLAGS,
            linkopts = linkopts + ["-lm"],
            **kwargs
        )
