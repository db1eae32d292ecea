import unittest
from random import Random

from fit import fit_law, fit_with_interval, interval, law, projection


class Fit(unittest.TestCase):
    def assert_close(self, got, wanted):
        for a, b in zip(got, wanted):
            self.assertAlmostEqual(a, b, delta=1e-6 * max(1, abs(b)))

    def test_exact_points_give_back_the_law(self):
        wanted = (1000.0, 0.05, 0.002)
        self.assert_close(fit_law([(n, law(n, *wanted)) for n in (1, 2, 4, 8, 16)]), wanted)

    def test_amdahl_from_two_points(self):
        # 1.5 times as fast on two cores: 1.5 = 2 / (1 + sigma)
        self.assert_close(fit_law([(1, 100.0), (2, 150.0)], with_kappa=False), (100.0, 1 / 3, 0.0))

    def test_two_points_do_not_tell_kappa(self):
        self.assertIsNone(fit_law([(1, 100.0), (2, 150.0)]))

    def test_one_point_tells_nothing(self):
        self.assertIsNone(fit_law([(1, 100.0), (1, 110.0)], with_kappa=False))

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

    def test_the_peak_is_where_the_law_turns(self):
        fit = fit_with_interval({n: [law(n, 10, 0.1, 0.001)] * 3 for n in (1, 8, 64, 128)}, True)
        self.assertAlmostEqual(fit["peak_n"], (0.9 / 0.001) ** 0.5, places=3)

    def test_the_interval_covers_the_fit_and_is_none_for_single_trials(self):
        fit = fit_with_interval({1: [95, 100, 105], 2: [140, 150, 160]}, False)
        self.assertTrue(fit["sigma_interval"][0] <= fit["sigma"] <= fit["sigma_interval"][1])
        self.assertIsNone(fit_with_interval({1: [100], 2: [150]}, False)["sigma_interval"])

    def test_a_projection_goes_through_the_law(self):
        fit = fit_with_interval({1: [100, 100], 2: [150, 150]}, False)
        value, low, high = projection(fit, 4)
        self.assert_close((value, low, high), (200.0, 200.0, 200.0))

    def test_an_interval_leaves_out_the_tails(self):
        self.assertEqual(interval(list(range(101))), [2, 98])


if __name__ == "__main__":
    unittest.main()
