import unittest
from random import Random

from fit import fit_law, fit_with_interval, interval, law, peak

CLIENTS = (20, 150, 200, 800, 2000)


def fit(rates):
    return fit_with_interval({n: [x, x * 1.01] for n, x in rates.items()})


GOOD = fit({n: law(n, 100, 0.05, 1e-5) for n in CLIENTS})


class Fit(unittest.TestCase):
    def test_exact_points_give_back_the_law(self):
        wanted = (1000.0, 0.05, 0.002)
        found = fit_law([(n, law(n, *wanted)) for n in (1, 2, 4, 8, 16)])
        for a, b in zip(found, wanted, strict=True):
            self.assertAlmostEqual(a, b, delta=1e-6 * max(1, b))

    def test_two_points_tell_nothing(self):
        self.assertIsNone(fit_law([(1, 100.0), (2, 150.0), (2, 151.0)]))

    def test_faster_than_linear_is_held_at_linear(self):
        lambda_, sigma, kappa = fit_law([(1, 100.0), (2, 220.0), (4, 450.0)])
        self.assertEqual((sigma, kappa), (0.0, 0.0))
        self.assertTrue(100 < lambda_ < 115)

    def test_no_other_parameters_fit_noisy_points_better(self):
        random = Random(7)
        points = [
            (n, law(n, 1000, 0.1, 0.01) * random.uniform(0.95, 1.05)) for n in (1, 2, 4, 8, 16, 32)
        ]
        fitted = fit_law(points)

        def residual(parameters):
            return sum((x / law(n, *parameters) - 1) ** 2 for n, x in points)

        for _ in range(2000):
            near = tuple(abs(value * random.uniform(0.9, 1.1)) for value in fitted)
            self.assertGreaterEqual(residual(near), residual(fitted) - 1e-12)

    def test_the_interval_covers_the_fit_leaves_out_the_tails_and_is_none_for_single_trials(self):
        noisy = {n: [law(n, 100, 0.1, 0) * part for part in (0.9, 1, 1.1)] for n in (1, 2, 8)}
        fitted = fit_with_interval(noisy)
        self.assertTrue(
            fitted["sigma_interval"][0] <= fitted["sigma"] <= fitted["sigma_interval"][1]
        )
        single = fit_with_interval({n: values[:1] for n, values in noisy.items()})
        self.assertIsNone(single["sigma_interval"])
        self.assertEqual(interval(list(range(101))), [2, 98])

    def test_a_peak_that_was_not_measured_or_is_in_doubt_is_none(self):
        self.assertAlmostEqual(308, peak(GOOD, CLIENTS), delta=1)
        self.assertIsNone(peak(GOOD, [20, 200]))
        self.assertIsNone(peak({**GOOD, "kappa_interval": [0.0, 1.0]}, CLIENTS))
