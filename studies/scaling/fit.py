"""Fits of the universal scalability law (Gunther):

    X(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1))

N / X is linear in 1/lambda, sigma/lambda and kappa/lambda, so the least squares need no iteration:
each residual is taken relative to the measurement, and the parameters are kept at or above zero by
trying every set of them that is zero.
"""

from itertools import chain, combinations
from random import Random
from statistics import median

R2_MIN = 0.8  # of a law that is shown


def law(n, lambda_, sigma, kappa):
    return lambda_ * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))


def fit_law(points):
    """points: [(N, X), ...] -> (lambda, sigma, kappa), or None if there are too few different N."""
    points = [(n, x) for n, x in points if n > 0 and x > 0]
    if len({n for n, _ in points}) < 3:
        return None
    # Relative to the measured N/X, all points have the same weight: the errors are shares of the
    # measurement.
    rows, targets = [[1.0, n - 1.0, n * (n - 1.0)] for n, _ in points], [n / x for n, x in points]
    found = non_negative(rows, targets, [1.0] * len(points), first=1)
    if found is None:
        return None
    a, b, c = found
    return 1 / a, b / a, c / a


def non_negative(rows, targets, weights, first=0):
    """Least squares of the relative errors, with no parameter below zero: by trying every set of
    parameters that is zero, but those before `first`. None if nothing fits."""
    size, best = len(rows[0]), None
    for zero in chain(*(combinations(range(first, size), zeros) for zeros in range(size))):
        used = [i for i in range(size) if i not in zero]
        scaled = [
            [row[i] / target * weight for i in used]
            for row, target, weight in zip(rows, targets, weights, strict=True)
        ]
        solution = least_squares(scaled, weights)
        if solution is None or min(solution) < 0:
            continue
        error = sum(
            (sum(a * b for a, b in zip(row, solution, strict=True)) - weight) ** 2
            for row, weight in zip(scaled, weights, strict=True)
        )
        if best is None or error < best[0] - 1e-12:
            values = [0.0] * size
            for i, value in zip(used, solution, strict=True):
                values[i] = value
            best = (error, values)
    return best and best[1]


def least_squares(rows, targets):
    """Normal equations, by elimination with pivots; None if they have no single solution."""
    size = len(rows[0])
    matrix = [
        [sum(row[i] * row[j] for row in rows) for j in range(size)]
        + [sum(row[i] * t for row, t in zip(rows, targets, strict=True))]
        for i in range(size)
    ]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(matrix[k][i]))
        if abs(matrix[pivot][i]) < 1e-300:
            return None
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        for k in range(size):
            if k != i:
                factor = matrix[k][i] / matrix[i][i]
                matrix[k] = [a - factor * b for a, b in zip(matrix[k], matrix[i], strict=True)]
    return [matrix[i][size] / matrix[i][i] for i in range(size)]


def fit_with_interval(samples, seed=1, rounds=200):
    """samples: {N: [X of each trial]}. Fits the medians; the intervals hold 95 % of the fits to
    trials drawn again with replacement. Returns a dictionary, or None."""
    samples = {n: list(values) for n, values in sorted(samples.items()) if values}
    measured = {n: median(values) for n, values in samples.items()}
    fitted = fit_law(measured.items())
    if fitted is None:
        return None
    random, again, known = Random(seed), [], {}  # with few trials the same medians come again
    if min(map(len, samples.values())) >= 2:
        for _ in range(rounds):
            points = tuple(
                (n, median(random.choices(values, k=len(values)))) for n, values in samples.items()
            )
            if points not in known:
                known[points] = fit_law(points)
            if known[points]:
                again.append(known[points])
    mean = sum(measured.values()) / len(measured)
    spread = sum((x - mean) ** 2 for x in measured.values())
    off = sum((x - law(n, *fitted)) ** 2 for n, x in measured.items())
    _, sigma, kappa = fitted
    names = ("lambda", "sigma", "kappa")
    return {
        **dict(zip(names, fitted, strict=True)),
        **{f"{name}_interval": interval([f[nth] for f in again]) for nth, name in enumerate(names)},
        "r_squared": 1 - off / spread if spread else 0.0,
        "peak_n": ((1 - sigma) / kappa) ** 0.5 if kappa > 0 and sigma < 1 else None,
    }


def why_no_fit(fit):
    """None if the law describes what it was fitted to."""
    if fit["r_squared"] >= R2_MIN:
        return None
    return f"no fit of universal scalability law: R² is {fit['r_squared']:.2f}, below {R2_MIN:g}"


def peak(fit, measured):
    """N of the peak, if it lies among the N that were measured and the trials leave no doubt that
    there is one; else None."""
    least, most = min(measured), max(measured)
    if not fit["peak_n"] or not least <= fit["peak_n"] <= most:
        return None
    return fit["peak_n"] if fit["kappa_interval"] and fit["kappa_interval"][0] > 0 else None


def interval(values, share=0.95):
    if not values:
        return None
    values = sorted(values)
    tail = int((1 - share) / 2 * (len(values) - 1))
    return [values[tail], values[-1 - tail]]
