"""How trials become costs, and what is wrong with a file of costs."""

import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import calibrate
from calibrate import CalibrationError, fit_policy, load, medians, non_negative
from cells import POLICIES, STORES, fit_cells
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

    def test_trials_that_the_hypervisor_disturbed_are_discarded(self):
        found = medians([trial(requests_per_s=r, stolen=s) for r, s in ((1, 0), (2, 0.3), (3, 0))])
        self.assertEqual((found["a"]["requests_per_s"], found["a"]["discarded"]), (2, 1))

    def test_a_cell_without_a_calm_trial_is_kept_and_marked(self):
        found = medians([trial(requests_per_s=r, stolen=0.3) for r in (1, 2, 3)])
        self.assertEqual((found["a"]["requests_per_s"], found["a"]["disturbed"]), (2, True))


class Fit(unittest.TestCase):
    def test_exact_costs_are_found(self):
        found = non_negative([[1, 2], [1, 5], [1, 9]], [3 + 2 * n for n in (2, 5, 9)], [1, 1, 1])
        for value, expected in zip(found, (3, 2)):
            self.assertAlmostEqual(value, expected)

    def test_no_cost_is_negative(self):
        self.assertEqual(non_negative([[1, 1], [1, 3]], [4, 2], [1, 1])[1], 0)

    @mock.patch.object(calibrate, "ROUNDS", 2)
    def test_the_costs_of_a_simulated_server_are_found_again(self):
        # Of different lengths: with equal ones, few clients stay in step, and small changes of a cost change the step.
        spread = {"alone": [40 + 6 * i for i in range(len(QUANTILES))]}
        waits, measured = {**disk(0), **spread, "beside": [2 * us for us in spread["alone"]]}, {}
        for cell in fit_cells():
            if (cell.policy, cell.store) == ("loop", "sqlite"):
                seen = Exchange(cell, COSTS, waits, 1.0, seed=9).run(*calibrate.TRIAL_S)
                stages = {"apply": COSTS["apply"] * seen["requests_per_batch"]}
                measured[cell.key] = {**seen, "stages_us": stages, "write_p50_us": COSTS["write"]}
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

    def test_a_cell_without_trials_is_named(self):
        with self.assertRaisesRegex(CalibrationError, "no trial of loop sqlite cores=1"):
            fit_policy("loop", "sqlite", {}, disk(1.0), 1.0)

    def test_a_missing_measurement_of_the_disk_is_named(self):
        with self.assertRaisesRegex(CalibrationError, "disk loop sqlite"):
            calibrate.calibrate([trial()], {})


class File(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "costs.json"
        costs = {
            p: {s: {"one": dict(COSTS), "several": dict(COSTS)} for s in STORES} for p in POLICIES
        }
        self.good = {"format": calibrate.FORMAT, "wake_us": 1.0, "disk": disk(1.0), "costs": costs}

    def refused(self, text, because):
        self.file.write_text(text if isinstance(text, str) else json.dumps(text))
        with self.assertRaisesRegex(CalibrationError, because):
            load(self.file)

    def test_a_good_file_is_read(self):
        self.file.write_text(json.dumps(self.good))
        self.assertEqual(load(self.file), self.good)

    def test_a_missing_file_is_refused(self):
        with self.assertRaisesRegex(CalibrationError, "No such file"):
            load(self.file)

    def test_what_is_no_json_is_refused(self):
        self.refused("{", "is no JSON")

    def test_another_format_is_refused(self):
        self.refused({"format": "exchange-scaling/1"}, "not of the format")
        self.refused([], "not of the format")


if __name__ == "__main__":
    unittest.main()
