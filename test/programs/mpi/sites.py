# Calls of MPI from all kinds of places in Python, counted by themselves: "FUNCTION LINE PROCEDURE CALLS" of each, at the end.
import ctypes
import functools
import sys
import threading

ctypes.CDLL("libmpich.so.12", mode=ctypes.RTLD_GLOBAL)
mpi = ctypes.CDLL(None)  # so that a tool's calls come first
WORLD, SELF, DOUBLE, SUM = 0x44000000, 0x44000001, 0x4C00080B, 0x58000003
one, total = ctypes.c_double(1), ctypes.c_double()
ALL = (ctypes.byref(one), ctypes.byref(total), 1, DOUBLE, SUM, WORLD)
counts = {}
lock = threading.Lock()


def called(procedure, times=1):
    code = sys._getframe(1)
    key = (code.f_code.co_qualname, code.f_lineno, procedure)
    with lock:
        counts[key] = counts.get(key, 0) + times


def plain():
    called("MPI_Barrier"); mpi.MPI_Barrier(WORLD)
    called("MPI_Allreduce"); mpi.MPI_Allreduce(*ALL)


def nested(times):
    for i in range(times):
        called("MPI_Allreduce"); mpi.MPI_Allreduce(*ALL)
        for j in range(3):
            called("MPI_Barrier"); mpi.MPI_Barrier(WORLD)
            plain()


def over_lines():
    called("MPI_Allreduce"); mpi.MPI_Allreduce(ctypes.byref(one),
                                               ctypes.byref(total),
                                               1, DOUBLE, SUM, WORLD)


def produce(times):
    for i in range(times):
        called("MPI_Barrier"); mpi.MPI_Barrier(WORLD)
        yield i


def generator():
    for x in produce(20):
        called("MPI_Allreduce"); mpi.MPI_Allreduce(*ALL)
    return sum(x for x in produce(4))


def recursion(depth):
    called("MPI_Barrier"); mpi.MPI_Barrier(WORLD)
    if depth > 0:
        recursion(depth - 1)
        called("MPI_Allreduce"); mpi.MPI_Allreduce(*ALL)


COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


def callback():
    def compare(a, b):
        called("MPI_Barrier"); mpi.MPI_Barrier(WORLD)
        return a[0] - b[0]

    numbers = (ctypes.c_int * 9)(5, 1, 7, 3, 9, 2, 8, 4, 6)
    mpi.qsort(numbers, 9, 4, COMPARE(compare))
    called("MPI_Allreduce"); mpi.MPI_Allreduce(*ALL)


def exceptions():
    for i in range(11):
        try:
            called("MPI_Barrier"); mpi.MPI_Barrier(WORLD)
            if i % 3 == 0:
                raise ValueError
            called("MPI_Allreduce"); mpi.MPI_Allreduce(*ALL)
        except ValueError:
            called("MPI_Barrier"); mpi.MPI_Barrier(WORLD)
        finally:
            called("MPI_Barrier"); mpi.MPI_Barrier(WORLD)


class Held:
    def __del__(self):
        called("MPI_Barrier"); mpi.MPI_Barrier(WORLD)

    @property
    def value(self):
        called("MPI_Allreduce"); mpi.MPI_Allreduce(*ALL)
        return 1

    @staticmethod
    def größe():
        called("MPI_Barrier"); mpi.MPI_Barrier(WORLD)


def objects():
    for i in range(6):
        held = Held()
        assert held.value == 1
        Held.größe()
    (lambda: (called("MPI_Barrier"), mpi.MPI_Barrier(WORLD)))()
    # The standard library only hands on.
    functools.reduce(lambda a, b: (called("MPI_Barrier"), mpi.MPI_Barrier(WORLD)), range(4))


def made_again():
    for i in range(8):
        exec("def made():\n    called('MPI_Barrier'); mpi.MPI_Barrier(WORLD)\nmade()", globals())


def in_thread(times):
    for i in range(times):
        called("MPI_Allreduce"); mpi.MPI_Allreduce(*ALL[:-1], SELF)


def threads():
    several = [threading.Thread(target=in_thread, args=(25,)) for _ in range(3)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()


def deep(depth):
    if depth > 0:
        return deep(depth - 1)
    for i in range(5):
        called("MPI_Barrier"); mpi.MPI_Barrier(WORLD)


provided = ctypes.c_int()
mpi.MPI_Init_thread(None, None, 3, ctypes.byref(provided))
assert provided.value == 3
rank = ctypes.c_int()
for i in range(7):
    called("MPI_Comm_rank"); mpi.MPI_Comm_rank(WORLD, ctypes.byref(rank))
plain()
nested(12)
for i in range(3):
    over_lines()
generator()
recursion(6)
callback()
exceptions()
objects()
made_again()
threads()
deep(400)
if rank.value == 0:
    for (function, line, procedure), times in sorted(counts.items()):
        print(function, line, procedure, times)
mpi.MPI_Finalize()
