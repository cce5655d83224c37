"""Functions that are called a known number of times, also by exceptions, generators, recursion, other threads and a forked child.

Prints what the standard library's profiler counts of them if asked to: functions.py count"""
import os
import sys


class Solver:
    def __init__(self, n):
        self.u = [float(i % 7) for i in range(n)]

    def step(self):
        n = len(self.u)
        self.u = [relax(self.u[i - 1], self.u[i], self.u[(i + 1) % n]) for i in range(n)]

    def norm(self):
        return sum(x * x for x in self.u) ** 0.5


def relax(a, b, c):
    return 0.25 * a + 0.5 * b + 0.25 * c


def numbers(n):
    for i in range(n):
        yield i


def fails():
    raise ValueError("planted")


def factorial(n):
    return 1 if n == 0 else n * factorial(n - 1)


def child():
    if os.fork() == 0:
        factorial(3)
        os._exit(0)
    os.wait()


def main():
    solver = Solver(20)
    for k in numbers(50):
        solver.step()
        if k % 10 == 0:
            solver.norm()
            factorial(5)
            try:
                fails()
            except ValueError:
                pass
    child()
    print(round(solver.norm(), 6), sum(map(lambda x: x + 1, range(3))))


if len(sys.argv) > 1:
    import cProfile
    import pstats

    profile = cProfile.Profile()
    profile.runcall(main)
    for (file, line, name), counts in sorted(pstats.Stats(profile).stats.items()):
        if file == __file__ and (name[0] != "<" or name == "<lambda>"):
            print(line, counts[1])
else:
    main()
    sys.exit(5)
