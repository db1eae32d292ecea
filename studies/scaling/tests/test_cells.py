import unittest
from dataclasses import replace

from cells import CORES, KINDS, LOADS, POLICIES, STORES, Cell, Settings
from cells import choose, loadgen_arguments, matches, parse_filter, place, quick_settings, schedule
from cells import sweep_cells, trials_of, why_not

CELL = Cell("sweep", "sustained", "loop", "create", 200, 0, 1, "sqlite")


def cell(**factors):
    return replace(CELL, **factors)


class Cells(unittest.TestCase):
    def test_the_sweep_has_every_combination_once(self):
        cells = sweep_cells()
        self.assertEqual(
            len(cells), len(POLICIES) * len(KINDS) * len(LOADS) * len(CORES) * len(STORES)
        )
        self.assertEqual(len({cell.key for cell in cells}), len(cells))

    def test_a_filter_needs_all_of_its_conditions_and_filters_add_up(self):
        wanted, other = map(parse_filter, ("policy=loop|thread,store=sqlite", "clients=200"))
        self.assertTrue(matches(CELL, [wanted]))
        self.assertFalse(matches(cell(store="memory"), [wanted]))
        self.assertTrue(matches(cell(store="memory"), [wanted, other]))

    def test_a_filter_with_an_unknown_name_or_value_is_refused(self):
        for text in ("polcy=loop", "policy=lop", "clients=many", "policy"):
            with self.assertRaises(ValueError, msg=text):
                parse_filter(text)

    def test_tables_a_and_b_have_ten_trials_and_the_sweep_five(self):
        self.assertEqual(
            {(cell.part, trials_of(cell, Settings())) for cell in choose(Settings())},
            {("a", 10), ("b", 10), ("sweep", 5)},
        )

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

    def test_a_quick_look_has_every_policy_and_store(self):
        cells = [cell for cell in choose(quick_settings()) if cell.part == "sweep"]
        self.assertEqual(
            {(cell.policy, cell.store) for cell in cells},
            {(policy, store) for policy in POLICIES for store in STORES},
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


class Arguments(unittest.TestCase):
    def test_each_kind_of_trial_has_its_arguments(self):
        burst = Cell("a", "burst", "pool-40", "transactions", 150, 0, 0, "postgresql")
        idle = cell(policy="thread", idle=10_000, store="memory")  # these take longer to warm up
        database = ("postgresql://x", 42)
        for one, trial, more, words in (
            (
                CELL,
                3,
                (),
                (
                    "-c 200 --policy loop --workload create -d 1 --warmup 0.25 --connection"
                    " persistent --server-cpus 0 --client-cpus 1 --seed 1003"
                ),
            ),
            (
                burst,
                1,
                database,
                (
                    "-c 150 --policy pool --server-threads 40 --workload transactions -n 150"
                    " --connection per-request --store postgresql://x --database-pid 42 --seed 1001"
                ),
            ),
            (idle, 1, (), "--warmup 1.75 --connection persistent --idle 10000 --store memory:"),
        ):
            settings = Settings(seconds=1, warmup=0.25)
            arguments = loadgen_arguments(one, place(one, (0, 1)), trial, settings, *more)
            self.assertIn(words, " ".join(arguments))
