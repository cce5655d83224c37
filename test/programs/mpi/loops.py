# Loops in Python, with calls of MPI in them, that count themselves: "LINE VISITS ITERATIONS" of each, at the end.
import ctypes
import sys

ctypes.CDLL("libmpich.so.12", mode=ctypes.RTLD_GLOBAL)
mpi = ctypes.CDLL(None)  # so that a tool's calls come first
WORLD, DOUBLE, SUM = 0x44000000, 0x4C00080B, 0x58000003
one, total = ctypes.c_double(1), ctypes.c_double()
counts = {}


def barrier():
    mpi.MPI_Barrier(WORLD)


def reduce():
    mpi.MPI_Allreduce(ctypes.byref(one), ctypes.byref(total), 1, DOUBLE, SUM, WORLD)


def visit(name):
    counts.setdefault(name, [0, 0])[0] += 1
    return name


def count(name):
    counts[name][1] += 1


def nest():
    visit("outer")
    for i in range(12):  # LOOP outer
        count("outer")
        reduce()
        visit("inner")
        for j in range(3 + i % 3):  # LOOP inner
            count("inner")
            barrier()
        if i % 5 == 0:
            barrier()


def condition():
    n = 0
    visit("while")
    while n < 15:  # LOOP while
        count("while")
        barrier()
        if n % 3 == 0:
            n += 1
            continue
        reduce()
        n += 1
    visit("for ever")
    while True:  # LOOP for ever
        count("for ever")
        reduce()
        n += 1
        if n == 30:
            break
        barrier()


def called(times):
    visit("called")
    for _ in range(times):  # LOOP called
        count("called")
        barrier()


def twice():
    visit("twice")
    for i in range(9):  # LOOP twice
        count("twice")
        reduce()
        called(5)
        reduce()
        called(3)


def comprehension():
    reduce()
    visit("comprehension")
    return [(count("comprehension"), barrier()) for i in range(11)]  # LOOP comprehension


def produce(times):
    for i in range(times):
        barrier()
        yield i


def generator():
    visit("generator")
    for x in produce(13):  # LOOP generator
        count("generator")
        reduce()


def exceptions():
    visit("exceptions")
    for i in range(14):  # LOOP exceptions
        count("exceptions")
        try:
            barrier()
            if i % 2 == 1:
                raise ValueError
            reduce()
        except ValueError:
            barrier()
        finally:
            reduce()


class Resource:
    def __enter__(self):
        barrier()

    def __exit__(self, *what):
        reduce()
        return True


class Held:
    def __del__(self):
        barrier()


def function_with_destructor():
    held = Held()
    reduce()


def objects():
    visit("objects")
    for i in range(16):  # LOOP objects
        count("objects")
        with Resource():
            if i % 4 == 0:
                raise KeyError
        function_with_destructor()


def made_again():
    visit("made again")
    for i in range(10):  # LOOP made again
        count("made again")
        exec("def f():\n    barrier()\n    reduce()\nf()")


def recursion(depth):
    visit("depth %d" % depth)
    for i in range(3):  # LOOP depth
        count("depth %d" % depth)
        reduce()
        if depth > 0:
            recursion(depth - 1)
        barrier()


def deep(depth):
    if depth > 0:
        return deep(depth - 1)
    visit("deep")
    for i in range(17):  # LOOP deep
        count("deep")
        barrier()


mpi.MPI_Init(None, None)
rank = ctypes.c_int()
mpi.MPI_Comm_rank(WORLD, ctypes.byref(rank))
parts = [nest, condition, twice, comprehension, generator, exceptions, objects, made_again]
visit("parts")
for part in parts:  # LOOP parts
    count("parts")
    part()
recursion(2)
deep(300)
mpi.MPI_Finalize()
if rank.value == 0:
    lines = {}
    with open(sys.argv[0]) as source:
        for number, line in enumerate(source, 1):
            if "# LOOP " in line:
                lines[line.split("# LOOP ")[1].strip()] = number
    for name, (visits, iterations) in counts.items():
        print(lines[name.split(" ")[0] if name.startswith("depth") else name], visits, iterations)
