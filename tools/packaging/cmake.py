#!/usr/bin/env python3
"""Writes CMakeLists.txt, for sites without Bazel, from what Bazel says it would do to build the product.

    tools/packaging/cmake.py            writes it, at the top of the repository
    tools/packaging/cmake.py --check    says whether it is what would be written; exit status 1 if not

Bazel is asked for its actions (bazel aquery): which sources are compiled with which options, what is linked of them,
which commands make sources. Nothing is known here of single libraries. What is on a machine is looked for by
requirements.cmake next to this file. All MPIs that Refrain knows have to be installed.
"""

import ast
import collections
import difflib
import json
import os
import re
import shlex
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRODUCT = "//tools:refrain + //tracer:librefrain.so + //python:package"
KINDS = "CppCompile|CppLink|Genrule|Symlink|Middleman"
BIN = re.compile(r"bazel-out/[^/]+/bin/")
# Bazel's own, for builds that are the same everywhere; and what CMake says itself.
DROPPED = re.compile(
    r"-fPIC|-MD|-Werror|-frandom-seed=.*|-fno-canonical-system-headers|-Wno-builtin-macro-redefined"
    r"|-D__(DATE|TIME|TIMESTAMP)__=.*")
# exclude-libs: our own libraries are archives here; the version scripts say the same.
LINK_DROPPED = re.compile(r"-shared|-fuse-ld=.*|-B/.*|-pass-exit-codes|@.*|-Wl,--exclude-libs,ALL")
OF_C = {"dl", "m", "pthread", "rt"}


class Error(Exception):
    pass


def bazel(*words):
    done = subprocess.run(["bazel", *words], cwd=TOP, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Error(f"bazel {words[0]} fails:\n{done.stderr}")
    return done.stdout


def mpi_headers():
    """The mpi.h of each MPI, as tools/bazel/mpis.bzl has it."""
    with open(os.path.join(TOP, "tools/bazel/mpis.bzl"), encoding="utf-8") as file:
        return ast.literal_eval(re.search(r"_HEADERS = (\{\n.*?\n\})", file.read(), re.S)[1])


class Actions:
    """What Bazel would do: its actions, with paths in the place of numbers."""

    def __init__(self):
        data = json.loads(bazel("aquery", "--output=jsonproto", f'mnemonic("{KINDS}", deps({PRODUCT}))'))
        fragments = {each["id"]: each for each in data["pathFragments"]}
        paths = {}

        def path(number):
            if number not in paths:
                each = fragments[number]
                above = path(each["parentId"]) + "/" if "parentId" in each else ""
                paths[number] = above + each["label"]
            return paths[number]

        artifacts = {each["id"]: path(each["pathFragmentId"]) for each in data["artifacts"]}
        sets = {each["id"]: each for each in data.get("depSetOfFiles", [])}
        rules = {each["id"]: each["name"] for each in data["ruleClasses"]}
        targets = {each["id"]: each for each in data["targets"]}
        self.of_kind = {kind: [] for kind in KINDS.split("|")}
        for action in data["actions"]:
            target = targets[action["targetId"]]
            self.of_kind[action["mnemonic"]].append({
                "label": target["label"],
                "rule": rules[target["ruleClassId"]],
                "words": action.get("arguments", []),
                "outputs": [artifacts[number] for number in action["outputIds"]],
                "inputs": {artifacts[number] for number in self._all(sets, action.get("inputDepSetIds", []))},
            })
        behind = {each["outputs"][0]: each["inputs"] for each in self.of_kind["Middleman"]}
        for kind in ("CppCompile", "Genrule"):
            for action in self.of_kind[kind]:
                action["inputs"] = self._without_middlemen(action["inputs"], behind)

    @staticmethod
    def _all(sets, numbers):
        todo, seen, found = list(numbers), set(), set()
        while todo:
            number = todo.pop()
            if number not in seen:
                seen.add(number)
                found.update(sets[number].get("directArtifactIds", []))
                todo += sets[number].get("transitiveDepSetIds", [])
        return found

    @staticmethod
    def _without_middlemen(inputs, behind):
        found, todo, seen = set(), list(inputs), set()
        while todo:
            path = todo.pop()
            if path in seen:
                continue
            seen.add(path)
            if path in behind:
                todo += behind[path]
            else:
                found.add(path)
        return found


def target_name(label):
    """CMake's name for a label: tracer.user.together."""
    return ".".join(part for part in re.split("[@/:]", label) if part)


class Places:
    """Paths and directories of Bazel's, as CMake has them."""

    def __init__(self, actions):
        self.outside = os.path.join(bazel("info", "output_base").strip(), "external")
        self.mpis = mpi_headers()
        self.folders = {}  # of headers of the system, to the variable of CMake
        machine = os.uname().machine
        here = {pattern.format(machine=machine): name for name, pattern in self.mpis.items()}
        for link in actions.of_kind["Symlink"]:
            folder = re.match(r"(.*/_virtual_includes/[^/]+)/(.*)", link["outputs"][0])
            (source,) = link["inputs"]
            if not folder:
                continue
            if folder[2] == "omp-tools.h":
                self.folders[folder[1]] = ("ompt", "${OUT}/ompt")
            name = here.get(source.replace("external/system/", "/usr/"))
            if name:
                self.folders[folder[1]] = (name, "${REFRAIN_%s_INCLUDE}" % name.upper())
        lacking = set(self.mpis) - {name for name, _ in self.folders.values()}
        if lacking:
            raise Error(f"not installed: {', '.join(sorted(lacking))}; CMakeLists.txt is written where all MPIs are")

    def file(self, path):
        """A source, or ${OUT}/... if it is made."""
        made = BIN.match(path)
        if made:
            return "${OUT}/" + path[made.end():]
        if path.startswith("external/"):
            path = os.path.relpath(os.path.realpath(os.path.join(self.outside, path[len("external/"):])), TOP)
            if path.startswith("../"):
                raise Error(f"{path} is outside of the repository")
        return path


def quoted(text):
    return f'"{text}"' if re.search(r'[\s"#();\\]', text) else text


def call(name, *words):
    """A call of a function of CMake's, on one line if that is short."""
    line = f"{name}({' '.join(words)})"
    if len(line) <= 120:
        return line
    return f"{name}({words[0]}\n  " + "\n  ".join(words[1:]) + ")"


class Compile:
    """How one source is compiled."""

    def __init__(self, action, places):
        self.label = action["label"]
        self.inputs = action["inputs"]
        self.object = next(path for path in action["outputs"] if path.endswith(".o"))
        self.needs = set()  # MPIs, python
        flags, words = [], iter(action["words"][1:])
        for word in words:
            if word == "-c":
                self.source = places.file(next(words))
            elif word in ("-o", "-MF", "-iquote"):
                next(words)
            elif word == "-isystem":
                folder = next(words)
                if not folder.startswith("/usr/include/python"):
                    raise Error(f"{self.label}: -isystem {folder} is not known")
                self.needs.add("python")
                flags.append('"SHELL:-isystem \\"${REFRAIN_PYTHON_INCLUDE}\\""')
            elif word.startswith("-I"):
                if word[2:] not in places.folders:
                    raise Error(f"{self.label}: {word} is not known")
                name, folder = places.folders[word[2:]]
                if name in places.mpis:
                    self.needs.add(name)
                    flags.append(f"$<$<BOOL:{folder}>:-I{folder}>")
                else:
                    flags.append(f"-I{folder}")
            elif not DROPPED.fullmatch(word):
                flags.append(quoted(word))
        # What does not need one of the MPIs may see them all.
        if len(self.needs & set(places.mpis)) > 1:
            self.needs -= set(places.mpis)
        self.flags = self._last_of_each(flags)
        self.flags = [f"$<$<COMPILE_LANGUAGE:CXX>:{flag}>" if flag.startswith("-std=c++") else flag for flag in self.flags]

    @staticmethod
    def _last_of_each(flags):
        def kind(flag):
            match = re.match(r"-O|-g\d|-std=", flag)
            return match[0][:2] if match else flag
        last = {kind(flag): number for number, flag in enumerate(flags)}
        return [flag for number, flag in enumerate(flags) if last[kind(flag)] == number]


class Link:
    """What a program or shared library is linked of: labels, those whose objects are all linked, options, libraries."""

    def __init__(self, action, label_of, places):
        self.output = places.file(action["outputs"][0]).removeprefix("${OUT}/")
        self.shared = "-shared" in action["words"]
        self.whole, self.archives, self.options, self.libraries, self.scripts = [], [], [], [], []
        loose, words = True, iter(action["words"][1:])
        for word in words:
            if word == "-o":
                next(words)
            elif word == "-Wl,--start-lib":
                loose = False
            elif word in ("-Wl,--end-lib", "-Wl,-whole-archive", "-Wl,-no-whole-archive"):
                loose = True
            elif word in label_of:
                self._add(self.whole if loose else self.archives, label_of[word])
            elif word.startswith("-Wl,--version-script="):
                script = places.file(word.split("=", 1)[1])
                script = script if script.startswith("${OUT}") else "${CMAKE_SOURCE_DIR}/" + script
                self.scripts.append(script)
                self.options.append("-Wl,--version-script=" + script)
            elif re.fullmatch(r"external/system/.*\.a", word):
                self._add(self.libraries, os.path.basename(word))
            elif word == "-l:libstdc++.a":
                self.options.append("-static-libstdc++")
            elif word.startswith("-l"):
                self._add(self.libraries, word[2:])
            elif not LINK_DROPPED.fullmatch(word):
                if not word.startswith("-") or "bazel-out" in word:
                    raise Error(f"{self.output}: {word} is not known")
                self._add(self.options, word)

    @staticmethod
    def _add(to, word):
        if word not in to:
            to.append(word)


class Command:
    """What a genrule does: text that is known now, or a command."""

    def __init__(self, action, places):
        self.target = target_name(action["label"])
        self.paths = action["outputs"]
        self.outputs = [places.file(path) for path in action["outputs"]]
        command = action["words"][2].split("genrule-setup.sh; ", 1)[1]
        printed = re.fullmatch(r"printf '%s\\n' (.*) >\s*\S+", command, re.S)
        self.lines = shlex.split(printed[1]) if printed else None
        command = re.sub(r"\s*\\\n\s*", " ", command.strip()).replace("\n", "; ")
        command = BIN.sub("$OUT/", command)
        for program, variable in (("python3", "PYTHON"), ("esbuild", "ESBUILD")):
            command = re.sub(rf"(^|[\s;&|]){program}(?= )", rf"\1${variable}", command)
        self.command = command.replace("/usr/share/nodejs", "$NODE_MODULES")
        if not printed and re.search(r"external/|bazel-out", self.command):
            raise Error(f"{action['label']}: names a file of Bazel's: {self.command}")
        # Files of the system are where the command finds them.
        inputs = {path for path in action["inputs"] if not path.startswith("external/") and "genrule-setup" not in path}
        self.depends = sorted(places.file(path) for path in inputs)
        self.packages = sorted(set(re.findall(r"pkg-config --\S+ (\S+?)\)", command)))


class Writer:
    """The text of CMakeLists.txt."""

    def __init__(self):
        actions = Actions()
        self.places = Places(actions)
        compiles = [Compile(action, self.places) for action in actions.of_kind["CppCompile"]]
        label_of = {each.object: each.label for each in compiles}
        self.links = sorted((Link(action, label_of, self.places) for action in actions.of_kind["CppLink"]
                             if action["rule"] == "cc_binary"), key=lambda link: link.output)
        linked = {label for link in self.links for label in link.whole + link.archives}
        self.compiles = {label: sorted((each for each in compiles if each.label == label), key=lambda each: each.source)
                         for label in sorted(linked)}
        self.whole = {label for link in self.links for label in link.whole}
        both = self.whole & {label for link in self.links for label in link.archives}
        if both:
            raise Error(f"linked as a whole, and not: {', '.join(sorted(both))}")
        self.commands = sorted((Command(action, self.places) for action in actions.of_kind["Genrule"]),
                               key=lambda command: command.target)
        compiled = [each for some in self.compiles.values() for each in some]
        self.used = set().union(*(each.inputs for each in compiled), *(action["inputs"] for action in actions.of_kind["Genrule"]))
        self.used |= {path for action in actions.of_kind["CppLink"] for path in action["inputs"]}
        self.maker = {path: command for command in self.commands for path in command.paths}
        # Of options of which the last one counts, what most sources have.
        usual = collections.Counter(tuple(each.flags) for each in compiled).most_common(1)[0][0]
        self.common = [flag for flag in usual
                       if flag.startswith(("-O", "$<$<COMPILE_LANGUAGE")) or all(flag in each.flags for each in compiled)]
        self.common_link = [option for option in self.links[0].options if all(option in link.options for link in self.links)]
        self.lines = []

    def add(self, *lines):
        self.lines += lines

    def text(self):
        self.begin()
        self.commands_and_texts()
        self.objects()
        for link in self.links:
            self.link(link)
        self.add("", "# What goes where is said once, for Bazel's build too.",
                 'install(CODE "execute_process(COMMAND [[${CMAKE_SOURCE_DIR}/tools/packaging/install_files]] [[${OUT}]]',
                 '  \\"\\${CMAKE_INSTALL_PREFIX}\\" COMMAND_ERROR_IS_FATAL ANY)")')
        return "\n".join(self.lines) + "\n"

    def begin(self):
        libraries = sorted({library for link in self.links for library in link.libraries} - OF_C)
        packages = sorted({package for command in self.commands for package in command.packages})
        self.add("# Written by tools/packaging/cmake.py, from what Bazel builds: what is changed here is lost.",
                 "# The product alone, for sites without Bazel: docs/guide/install.md. Tests are Bazel's.",
                 "cmake_minimum_required(VERSION 3.19)",
                 "project(refrain LANGUAGES C CXX ASM)",
                 "include(tools/packaging/requirements.cmake)",
                 *(call("refrain_mpi", name, os.path.dirname(header).format(machine="${CMAKE_SYSTEM_PROCESSOR}"))
                   for name, header in sorted(self.places.mpis.items())),
                 *(call("refrain_package", package) for package in packages),
                 call("refrain_libraries", *libraries),
                 "refrain_check_requirements()",
                 "",
                 call("add_compile_options", '"SHELL:-iquote \\"${CMAKE_SOURCE_DIR}\\""', '"SHELL:-iquote \\"${OUT}\\""', *self.common),
                 call("add_link_options", *self.common_link))

    def needed(self, command):
        return any(path in self.used for path in command.paths)

    def commands_and_texts(self):
        self.add("", "# What is compiled together.")
        sources = {each.source for some in self.compiles.values() for each in some}
        for command in self.commands:
            if command.lines is not None and command.outputs[0] in sources:
                file = command.outputs[0].removeprefix("${OUT}/")
                self.add(f"refrain_text({file} [=[", *command.lines, "]=])")
        self.add("", "# What is made.")
        for command in self.commands:
            if command.lines is not None:
                continue
            conditions = [f"REFRAIN_HAS_{re.sub(r'[^A-Za-z0-9_]', '_', package)}" for package in command.packages]
            if any("amd64" in path for path in command.paths):
                conditions.append('CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64"')
            if conditions:
                self.add(f"if({' AND '.join(conditions)})")
            # One that nothing else needs is part of the product.
            product = "" if self.needed(command) else " ALL"
            self.add(f"refrain_command({command.target}{product}", "  OUTPUT", *("    " + path for path in command.outputs),
                     "  DEPENDS", *("    " + path for path in command.depends), f"  COMMAND [=[{command.command}]=])")
            if conditions:
                self.end_if(command.outputs)

    def end_if(self, files):
        """What is no longer built must not be installed."""
        self.add("else()", call("  file", "REMOVE", *files), "endif()")

    def objects(self):
        self.add("", "# What is linked. Of archives only what is asked for.")
        for label, sources in self.compiles.items():
            name = target_name(label)
            kind = "OBJECT" if label in self.whole else "STATIC"
            self.add(call("add_library", name, kind, "EXCLUDE_FROM_ALL", *(each.source for each in sources)))
            own = [[flag for flag in each.flags if flag not in self.common] for each in sources]
            shared = [flag for flag in own[0] if all(flag in flags for flags in own)]
            if shared:
                self.add(call("target_compile_options", name, "PRIVATE", *shared))
            for each, flags in zip(sources, own):
                rest = [flag for flag in flags if flag not in shared]
                if rest:
                    self.add(f"set_source_files_properties({each.source} PROPERTIES COMPILE_OPTIONS \"{';'.join(rest)}\")")
            makers = {self.maker[path].target for each in sources for path in each.inputs
                      if path in self.maker and self.maker[path].lines is None}
            if makers:
                self.add(call("add_dependencies", name, *sorted(makers)))

    def link(self, link):
        name = os.path.basename(link.output).removesuffix(".so")
        needs = {need for label in link.whole + link.archives for each in self.compiles[label] for need in each.needs}
        conditions = ["REFRAIN_PYTHON" if need == "python" else f"REFRAIN_{need.upper()}_INCLUDE" for need in sorted(needs)]
        self.add("")
        if conditions:
            self.add(f"if({' AND '.join(conditions)})")
        kind = ["SHARED"] if link.shared else []
        if not link.whole:
            raise Error(f"{name} is linked of archives alone, which CMake refuses: nothing of it is alwayslink")
        self.add(call("add_library" if link.shared else "add_executable", name, *kind,
                      *(f"$<TARGET_OBJECTS:{target_name(label)}>" for label in link.whole)),
                 call("refrain_output", name, link.output))
        options = [option for option in link.options if option not in self.common_link]
        if options:
            self.add(call("target_link_options", name, "PRIVATE", *options))
        if link.scripts:
            self.add(call("set_target_properties", name, "PROPERTIES LINK_DEPENDS", f'"{";".join(link.scripts)}"'))
        libraries = [library if library in OF_C else "${REFRAIN_%s}" % re.sub(r"\W", "_", library) for library in link.libraries]
        self.add(call("target_link_libraries", name, "PRIVATE", *map(target_name, link.archives), *libraries))
        if conditions:
            self.end_if(["${OUT}/" + link.output])


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    path = os.path.join(TOP, "CMakeLists.txt")
    text = Writer().text()
    if len(sys.argv) == 1:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    there = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            there = file.read()
    if text == there:
        return 0
    print(*list(difflib.unified_diff(there.splitlines(), text.splitlines(), "CMakeLists.txt", "as it would be", lineterm=""))[:40],
          sep="\n", file=sys.stderr)
    print("CMakeLists.txt is not what tools/packaging/cmake.py writes: call that, and commit the file", file=sys.stderr)
    return 1


try:
    sys.exit(main())
except Error as error:
    print(f"tools/packaging/cmake.py: {error}", file=sys.stderr)
    sys.exit(2)
