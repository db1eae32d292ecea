"""Fits of the universal scalability law (Gunther) and of Amdahl's, which is the same without the last term:

    X(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1))

N / X is linear in 1/lambda, sigma/lambda and kappa/lambda, so the least squares need no iteration: each residual is
taken relative to the measurement, and the parameters are kept at or above zero by trying every set of them that is zero.
"""

from itertools import chain, combinations
from random import Random
from statistics import median


def law(n, lambda_, sigma, kappa=0.0):
    return lambda_ * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))


def fit_law(points, with_kappa=True):
    """points: [(N, X), ...] -> (lambda, sigma, kappa), or None if there are too few different N."""
    points = [(n, x) for n, x in points if n > 0 and x > 0]
    terms = [lambda n: 1.0, lambda n: n - 1.0] + ([lambda n: n * (n - 1.0)] if with_kappa else [])
    if len({n for n, _ in points}) < len(terms):
        return None
    # Relative to the measured N/X, all points have the same weight: the errors are shares of the measurement.
    rows, targets = [[term(n) for term in terms] for n, _ in points], [n / x for n, x in points]
    found = non_negative(rows, targets, [1.0] * len(points), first=1)
    if found is None:
        return None
    a, b, c = found + [0.0] * (3 - len(found))
    return 1 / a, b / a, c / a


def non_negative(rows, targets, weights, first=0):
    """Least squares of the relative errors, with no parameter below zero: by trying every set of parameters that is zero, but
    those before `first`. None if nothing fits."""
    size, best = len(rows[0]), None
    for zero in chain(*(combinations(range(first, size), zeros) for zeros in range(size))):
        used = [i for i in range(size) if i not in zero]
        scaled = [
            [row[i] / target * weight for i in used]
            for row, target, weight in zip(rows, targets, weights)
        ]
        solution = least_squares(scaled, weights)
        if solution is None or min(solution) < 0:
            continue
        error = sum(
            (sum(a * b for a, b in zip(row, solution)) - weight) ** 2
            for row, weight in zip(scaled, weights)
        )
        if best is None or error < best[0] - 1e-12:
            values = [0.0] * size
            for i, value in zip(used, solution):
                values[i] = value
            best = (error, values)
    return best and best[1]


def least_squares(rows, targets):
    """Normal equations, by elimination with pivots; None if they have no single solution."""
    size = len(rows[0])
    matrix = [
        [sum(row[i] * row[j] for row in rows) for j in range(size)]
        + [sum(row[i] * t for row, t in zip(rows, targets))]
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
                matrix[k] = [a - factor * b for a, b in zip(matrix[k], matrix[i])]
    return [matrix[i][size] / matrix[i][i] for i in range(size)]


def fit_with_interval(samples, with_kappa, seed=1, rounds=200):
    """samples: {N: [X of each trial]}. Fits the medians; the intervals hold 95 % of the fits to trials drawn again with
    replacement. Returns a dictionary, or None."""
    samples = {n: list(values) for n, values in sorted(samples.items()) if values}
    fitted = fit_law([(n, median(values)) for n, values in samples.items()], with_kappa)
    if fitted is None:
        return None
    random = Random(seed)
    again, known = [], {}  # with few trials the same medians come again and again
    if min(len(values) for values in samples.values()) >= 2:
        for _ in range(rounds):
            points = tuple(
                (n, median(random.choices(values, k=len(values)))) for n, values in samples.items()
            )
            if points not in known:
                known[points] = fit_law(points, with_kappa)
            if known[points]:
                again.append(known[points])
    measured = {n: median(values) for n, values in samples.items()}
    mean = sum(measured.values()) / len(measured)
    spread = sum((x - mean) ** 2 for x in measured.values())
    off = sum((x - law(n, *fitted)) ** 2 for n, x in measured.items())
    lambda_, sigma, kappa = fitted
    return {
        "law": "universal scalability law" if with_kappa else "Amdahl (kappa = 0)",
        "points": len(samples),
        "lambda": lambda_,
        "sigma": sigma,
        "kappa": kappa if with_kappa else None,
        "lambda_interval": interval([f[0] for f in again]),
        "sigma_interval": interval([f[1] for f in again]),
        "kappa_interval": interval([f[2] for f in again]) if with_kappa else None,
        "r_squared": 1 - off / spread
        if spread > 0 and len(samples) > (3 if with_kappa else 2)
        else None,  # of as many points as parameters it is always 1
        "peak_n": ((1 - sigma) / kappa) ** 0.5 if with_kappa and kappa > 0 and sigma < 1 else None,
        "fits": again,
    }


R2_MIN = 0.8  # of a law that is shown


def describes(fit):
    """Whether the law describes what it was fitted to. With as many points as parameters that cannot be known."""
    return fit["r_squared"] is not None and fit["r_squared"] >= R2_MIN


def why_no_fit(fit):
    """Empty if it is shown."""
    if describes(fit):
        return ""
    if fit["r_squared"] is None:
        return f"no fit of {fit['law']}: {fit['points']} points cannot test a law of {2 if fit['kappa'] is None else 3} parameters"
    return f"no fit of {fit['law']}: R² is {fit['r_squared']:.2f}, below {R2_MIN:g}"


def peak(fit, measured):
    """N of the peak, if it lies among the N that were measured and the trials leave no doubt that there is one; else None."""
    least, most = min(measured), max(measured)
    if not fit["peak_n"] or not least <= fit["peak_n"] <= most:
        return None
    return fit["peak_n"] if fit["kappa_interval"] and fit["kappa_interval"][0] > 0 else None


def interval(values, share=0.95):
    if not values:
        return None
    values = sorted(values)
    tail = (1 - share) / 2
    return [values[int(tail * (len(values) - 1))], values[-1 - int(tail * (len(values) - 1))]]


def projection(fit, n):
    """(value, low, high) of the law at n."""
    at_n = [law(n, *parameters) for parameters in fit["fits"]]
    low, high = interval(at_n) or (None, None)
    return law(n, fit["lambda"], fit["sigma"], fit["kappa"] or 0.0), low, high
