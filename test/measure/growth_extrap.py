#!/usr/bin/env python3
"""Has Extra-P 4 model the data of growth_report, and compares: growth_extrap.py < lines.

Needs Extra-P's Python package (https://github.com/extra-p/extrap) in PYTHONPATH. Prints for each number of scales and noise how often the class
of growth is right (none, logarithm, less than p, p with any logarithm, more), how often the exponent is at most 1/4 off, and
how many constants are said to be constant: of Refrain, and of Extra-P.
"""

import collections
import logging
import sys

from extrap.entities.callpath import Callpath
from extrap.entities.coordinate import Coordinate
from extrap.entities.experiment import Experiment
from extrap.entities.measurement import Measurement
from extrap.entities.metric import Metric
from extrap.entities.parameter import Parameter
from extrap.modelers.model_generator import ModelGenerator


def growth_class(exponent, logarithms):
    if exponent == 0:
        return 0 if logarithms == 0 else 1
    return 2 if exponent < 1 else 3 if exponent == 1 else 4


def extrap_models(rows):
    """-> exponent and logarithms of each."""
    experiment, metric = Experiment(), Metric("time")
    experiment.add_parameter(Parameter("p"))
    experiment.add_metric(metric)
    coordinates = [Coordinate(2**i) for i in range(len(rows[0]))]
    for coordinate in coordinates:
        experiment.add_coordinate(coordinate)
    paths = [Callpath(str(i)) for i in range(len(rows))]
    for path, values in zip(paths, rows):
        experiment.add_callpath(path)
        for coordinate, value in zip(coordinates, values):
            experiment.add_measurement(Measurement(coordinate, path, metric, [value]))
    generator = ModelGenerator(experiment, use_median=False)
    generator.model_all()
    found = []
    for path in paths:
        terms = generator.models[(path, metric)].hypothesis.function.compound_terms
        parts = [part for term in terms for part in term.simple_terms]
        exponent = max([float(part.exponent) for part in parts if part.term_type == "polynomial"], default=0)
        logarithms = max([int(part.exponent) for part in parts if part.term_type == "logarithm"], default=0)
        found.append((exponent, logarithms))
    return found


def main():
    logging.disable(logging.CRITICAL)
    groups = collections.defaultdict(list)
    for line in sys.stdin:
        words = line.split()
        truth = (float(words[0]), int(words[1]))
        ours = None if words[4] == "-" else (float(words[4]), int(words[5]))
        groups[int(words[2]), float(words[3])].append((truth, ours, [float(word) for word in words[6:]]))
    print("scales noise   class: Refrain Extra-P   exponent: Refrain Extra-P   constants: Refrain Extra-P")
    for (scales, noise), rows in sorted(groups.items()):
        figures = []
        for found in [[ours for _, ours, _ in rows], extrap_models([values for _, _, values in rows])]:
            pairs = list(zip([truth for truth, _, _ in rows], found))
            known = [(truth, each) for truth, each in pairs if each is not None]
            flat = [each for truth, each in pairs if truth == (0, 0)]
            figures.append((sum(growth_class(*t) == growth_class(*f) for t, f in known) / len(rows),
                            sum(abs(t[0] - f[0]) <= 0.26 for t, f in known) / len(rows),
                            sum(each == (0, 0) for each in flat) / len(flat)))
        (a, b, c), (d, e, f) = figures
        print(f"{scales:6} {100 * noise:3.0f} % {100 * a:15.0f} % {100 * d:5.0f} % {100 * b:17.0f} % {100 * e:5.0f} % {100 * c:18.0f} % {100 * f:5.0f} %")


if __name__ == "__main__":
    main()
