"""The simulated exchange: what must hold for any costs, and cases whose result is known; and how
trials become costs."""

import unittest
from dataclasses import replace
from unittest import mock

import calibrate
from calibrate import fit_policy, medians, non_negative
from cells import POLICIES, Cell, fit_cells
from measure import QUANTILES
from model import Exchange

COSTS = {"read": 4.0, "write": 6.0, "transport_cold": 10.0, "apply": 0.5, "complete": 0.5}
COSTS |= {"batch": 30.0, "project": 2.0, "projection": 500.0, "replica": 0.2}
COSTS |= {"client": 8.0, "client_cold": 10.0}
TINY = {name: 0.001 for name in COSTS}


def disk(us):
    """A disk whose waits all have the same length."""
    same = [us] * len(QUANTILES)
    return {"alone": same, "beside": same, "waits_per_commit": 1, "project": 0, "projection": 0}


def simulate(cell, costs=COSTS, commit_us=100.0, seconds=0.3, seed=1):
    return Exchange(cell, costs, disk(commit_us), 1.0, seed).run(seconds, 0.1)


CELL = Cell("loop", "sqlite", 50, 1)


class Model(unittest.TestCase):
    def test_the_same_seed_gives_the_same_result(self):
        for policy in POLICIES:
            cell = replace(CELL, policy=policy, cores=2, rate=20_000)
            self.assertEqual(simulate(cell), simulate(cell))
            self.assertNotEqual(simulate(cell), simulate(cell, seed=2))

    def test_a_faster_disk_never_lowers_throughput_if_there_are_cpus(self):
        """On one CPU it may: batches get smaller, and each has a price."""
        for policy in POLICIES:
            cell = replace(CELL, policy=policy, cores=8)
            rates = [
                simulate(cell, commit_us=us)["requests_per_s"] for us in (3000, 1000, 300, 100)
            ]
            self.assertEqual(rates, sorted(rates), policy)

    def test_no_cpu_is_used_more_than_there_is(self):
        for policy in POLICIES:
            for cores in (1, 2, 4):
                busy = simulate(replace(CELL, policy=policy, cores=cores))["cpus_busy"]
                self.assertLessEqual(busy["server"], 1.001 * cores)
                self.assertLessEqual(max(busy["core"], busy["client"]), 1.001)

    def test_one_cpu_that_is_full_gives_the_throughput_of_the_bottleneck_law(self):
        for policy in POLICIES:
            result = simulate(replace(CELL, policy=policy, store="memory", clients=200))
            of_server = sum(us for name, us in result["cpu_us"].items() if name != "client")
            self.assertAlmostEqual(result["requests_per_s"], 1e6 / of_server, delta=2000)

    def test_one_client_waits_for_one_commit(self):
        result = simulate(replace(CELL, clients=1), TINY, 1000)
        self.assertAlmostEqual(result["requests_per_s"], 1000, delta=20)

    def test_a_request_waits_for_the_commit_before_its_own_when_cpu_time_is_free(self):
        """The first of n clients starts a commit alone; the others share the next: n requests in
        two commits."""
        result = simulate(replace(CELL, clients=20, cores=8), TINY, 1000)
        self.assertAlmostEqual(result["requests_per_s"], 20 / 2 * 1000, delta=200)
        self.assertAlmostEqual(result["requests_per_batch"], 10, delta=0.2)

    def test_the_core_thread_limits_many_cores(self):
        for policy in POLICIES:
            costs = {**TINY, "apply": 10.0}
            cell = replace(CELL, policy=policy, store="memory", cores=8, clients=100, workers=8)
            self.assertAlmostEqual(simulate(cell, costs)["requests_per_s"], 100_000, delta=3000)

    def test_an_open_loop_below_the_capacity_is_answered(self):
        for policy in POLICIES:
            result = simulate(replace(CELL, policy=policy, rate=5000), seconds=1)
            self.assertAlmostEqual(result["requests_per_s"], 5000, delta=300)


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
