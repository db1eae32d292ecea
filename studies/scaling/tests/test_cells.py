import unittest
from dataclasses import replace

from cells import Cell, Settings, choose, matches, parse_filter, place, schedule, trials_of, why_not

CELL = Cell("sweep", "sustained", "loop", "create", 200, 0, 1, "sqlite")


def cell(**factors):
    return replace(CELL, **factors)


class Cells(unittest.TestCase):
    def test_a_filter_needs_all_of_its_conditions_and_filters_add_up(self):
        wanted, other = map(parse_filter, ("policy=loop|thread,store=sqlite", "clients=200"))
        self.assertTrue(matches(CELL, [wanted]))
        self.assertFalse(matches(cell(store="memory"), [wanted]))
        self.assertTrue(matches(cell(store="memory"), [wanted, other]))

    def test_a_filter_with_an_unknown_name_or_value_is_refused(self):
        for text in ("polcy=loop", "policy=lop", "clients=many", "policy"):
            with self.assertRaises(ValueError, msg=text):
                parse_filter(text)

    def test_the_schedule_interleaves(self):
        settings = Settings(trials=2, table_trials=3, only=("store=sqlite,clients=20", "part=a"))
        plan = list(schedule(choose(settings), settings))
        self.assertEqual([trial for trial, _ in plan], sorted(trial for trial, _ in plan))
        self.assertEqual(len(plan), len(set(plan)))
        self.assertEqual(len(plan), sum(trials_of(cell, settings) for cell in choose(settings)))

    def test_the_same_seed_gives_the_same_order_and_rounds_differ(self):
        settings = Settings()
        cells = choose(settings)
        first, again = list(schedule(cells, settings)), list(schedule(cells, settings))
        other = list(schedule(cells, Settings(seed=2)))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertNotEqual(
            [cell for trial, cell in first if trial == 1],
            [cell for trial, cell in first if trial == 2],
        )

    def test_more_cores_than_cpus_cannot_be_run(self):
        four = cell(cores=4)
        self.assertEqual(why_not(four, (0, 1)), "4 cores wanted, 2 there")
        self.assertIsNone(why_not(four, (0, 1, 2, 3)))


class Placements(unittest.TestCase):
    def test_the_client_has_a_cpu_of_its_own_while_there_is_one(self):
        for cores, store, cpus, wanted in (
            (1, "sqlite", (0, 1), ((0,), (1,), (), False)),
            (1, "postgresql", (0, 1), ((0,), (1,), (1,), False)),
            (1, "postgresql", (0, 1, 2, 3), ((0,), (3,), (1, 2), False)),
            (2, "postgresql", (0, 1), ((0, 1), (0, 1), (0, 1), True)),
        ):
            one = place(cell(cores=cores, store=store), cpus)
            self.assertEqual((one.server, one.client, one.database, one.shared), wanted)
        self.assertIn("shares the CPUs of the server", place(cell(cores=2), (0, 1)).words)
