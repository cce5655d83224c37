"""The type hints: of the package they are complete, of the module they say what is there, and users' scripts are checked by them."""

import ast
import inspect
import os
import re
import subprocess
import sys
import tempfile

import archives
import refrain

RIGHT = """
import refrain

archive = refrain.Archive("run")
seconds: float = refrain.analyze(archive).metrics["time"]
for event in archive.trace(before=10):
    kind: str = event.kind

class Mine(refrain.Pattern):
    name = "mine"

    def receive(self, event: refrain.Receive) -> None:
        self.charge(event.call, event.call.take(10))

refrain.analyze(archive, patterns=[Mine], modules=["a.so"])
"""

WRONG = """
import refrain

refrain.Archive(3)
refrain.analyze("run").metrics["time"].upper()
refrain.analyze("run", patterns=[int])
for event in refrain.Archive("run").trace():
    event.no_such
"""


def mypy(*words):
    cache = os.path.join(archives.FOLDER, "cache")
    done = subprocess.run(
        [sys.executable, "-m", *words, *(["--cache-dir", cache] if words[0] == "mypy" else [])],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=archives.FOLDER,
    )
    return done.returncode, done.stdout


def script(text):
    with tempfile.NamedTemporaryFile("w", suffix=".py", dir=archives.FOLDER, delete=False) as file:
        file.write(text)
    return file.name


def stub_says_what_is_there():
    """Classes, functions, properties and arguments of the module are those of the stub, both ways."""
    with open(archives.data("python/refrain/_refrain.pyi"), encoding="utf-8") as file:
        stub = ast.parse(file.read())
    module = refrain._refrain
    functions = {each.name: each for each in stub.body if isinstance(each, ast.FunctionDef)}
    classes = {each.name: each for each in stub.body if isinstance(each, ast.ClassDef)}
    values = {each.target.id for each in stub.body if isinstance(each, ast.AnnAssign)}

    def public(of):
        return {name for name in vars(of) if not name.startswith("_")}

    assert public(module) | {"__version__"} == set(functions) | set(classes) | values
    for name, function in functions.items():
        assert arguments(function) == arguments_of(getattr(module, name)), name
    for name, one in classes.items():
        members = {each.name: each for each in one.body if isinstance(each, ast.FunctionDef)}
        real = getattr(module, name)
        assert public(real) == set(members) - {"__init__"}, name
        for member, function in members.items():
            is_property = any(isinstance(each, ast.Name) and each.id == "property" for each in function.decorator_list)
            found = inspect.getattr_static(real, member)
            assert isinstance(found, property) == is_property, (name, member)
            if not is_property:
                assert arguments(function) == arguments_of(found), (name, member)


def arguments(function):
    return [each.arg for each in function.args.args if each.arg != "self"]


def arguments_of(bound):
    """As pybind11 writes them in the first line of the documentation: name(a: str, b: int) -> ..."""
    line = bound.__doc__.splitlines()[0]
    return [name for name in re.findall(r"[(,]\s*(\w+): ", line) if name != "self"]


def values_are_of_their_types():
    simple = {"int": int, "str": str, "bool": bool, "float": float, "List": list, "Dict": dict, "_Id": tuple}
    simple["Tuple"] = tuple
    with open(archives.data("python/refrain/_refrain.pyi"), encoding="utf-8") as file:
        classes = {each.name: each for each in ast.parse(file.read()).body if isinstance(each, ast.ClassDef)}

    def fits(value, type):
        if isinstance(type, ast.Subscript) and type.value.id == "Optional":
            return value is None or fits(value, type.slice)
        name = type.value.id if isinstance(type, ast.Subscript) else type.id
        expected = simple.get(name) or getattr(refrain._refrain, name)
        return isinstance(value, expected) and (expected is not int or not isinstance(value, bool))

    checked = set()

    def check(found):
        name = type(found).__name__
        checked.add(name)
        for each in classes[name].body:
            if isinstance(each, ast.FunctionDef) and each.decorator_list:
                assert fits(getattr(found, each.name), each.returns), (name, each.name)

    class Check(refrain.Pattern):
        name = "check"

        def any(self, found):
            check(found)
            for inner in ("call", "message"):
                if hasattr(found, inner):
                    check(getattr(found, inner))
            for inner in [*getattr(found, "messages", ()), *getattr(found, "posted", ())]:
                check(inner)

        begin = call = receive = late_sender = send = collective = barrier = fork = any

    archive = archives.recorded("hybrid_gcc-30-200_n2o_t2_LIMIT=0", "hybrid")
    refrain.analyze(archive, [Check])
    for event in refrain.Archive(archive).trace():
        check(event)
    assert {"Event", "Run", "Call", "Receive", "Send", "Collective", "Barrier", "Fork"} <= checked, checked


os.environ["MYPYPATH"] = os.environ["PYTHONPATH"]
status, said = mypy("mypy", "--strict", script(RIGHT), archives.data("python/refrain/__init__.py"))
assert status == 0, said
status, said = mypy("mypy", "--strict", script(WRONG))
wrong_lines = {int(line.split(":")[1]) for line in said.splitlines() if ": error:" in line}
assert status == 1 and wrong_lines == {4, 5, 6, 8}, said
stub_says_what_is_there()
values_are_of_their_types()
archives.remove()
