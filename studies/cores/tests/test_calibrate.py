"""How trials become costs."""

import unittest
from unittest import mock

import calibrate
from calibrate import fit_policy, medians, non_negative
from cells import fit_cells
from measure import QUANTILES
from model import Exchange
from test_model import COSTS, disk


def trial(cell="a", stolen=0.0, **figures):
    return {"cell": cell, "trial": 0, "stolen": stolen, "requests_per_s": 1.0, **figures}


class Medians(unittest.TestCase):
    def test_the_median_of_each_figure_is_taken(self):
        trials = [trial(cpu_us={"core": us}, list=[us, 0]) for us in (5, 1, 3)]
        found = medians(trials)["a"]
        self.assertEqual((found["cpu_us"], found["list"]), ({"core": 3}, [3, 0]))

    def test_disturbed_trials_are_discarded_if_calm_ones_remain_and_marked_if_not(self):
        found = medians([trial(requests_per_s=r, stolen=s) for r, s in ((1, 0), (2, 0.3), (3, 0))])
        self.assertEqual((found["a"]["requests_per_s"], found["a"]["discarded"]), (2, 1))
        found = medians([trial(requests_per_s=r, stolen=0.3) for r in (1, 2, 3)])
        self.assertEqual((found["a"]["requests_per_s"], found["a"]["disturbed"]), (2, True))


class Fit(unittest.TestCase):
    def test_exact_costs_are_found(self):
        found = non_negative([[1, 2], [1, 5], [1, 9]], [3 + 2 * n for n in (2, 5, 9)], [1, 1, 1])
        for value, expected in zip(found, (3, 2), strict=True):
            self.assertAlmostEqual(value, expected)

    def test_no_cost_is_negative(self):
        self.assertEqual(non_negative([[1, 1], [1, 3]], [4, 2], [1, 1])[1], 0)

    @mock.patch.object(calibrate, "ROUNDS", 2)
    def test_the_costs_of_a_simulated_server_are_found_again(self):
        # Different lengths: with equal ones, few clients stay in step, and small changes of a cost
        # change the step.
        spread = {"alone": [40 + 6 * i for i in range(len(QUANTILES))]}
        waits, measured = {**disk(0), **spread, "beside": [2 * us for us in spread["alone"]]}, {}
        for cell in fit_cells():
            if (cell.policy, cell.store) == ("loop", "sqlite"):
                seen = Exchange(cell, COSTS, waits, 1.0, seed=9).run(*calibrate.TRIAL_S)
                apply_us = COSTS["apply"] * seen["requests_per_batch"]
                measured[cell.key] = {**seen, "apply_us": apply_us, "write_p50_us": COSTS["write"]}
        found = fit_policy("loop", "sqlite", measured, waits, 1.0)
        within = {
            "project": 0.15,
            **dict.fromkeys(("read", "write", "transport_cold", "batch", "client"), 0.1),
        }
        for cores in ("one", "several"):
            for name, delta in within.items():
                ratio = found[cores][name] / COSTS[name]
                self.assertAlmostEqual(ratio, 1, delta=delta, msg=(cores, name))

    def test_cost_moves_between_batches_and_requests(self):
        costs = {"apply": 1.0, "complete": 0.0, "batch": 5.0}
        calibrate.set_core(costs, 2.0, 9.0, 3)
        self.assertEqual(costs, {"apply": 1.0, "complete": 1.0, "batch": 2.0})
        calibrate.set_core(costs, 0.0, 0.5, 2)
        self.assertEqual(costs, {"apply": 0.5, "complete": 0.0, "batch": 5.0})
