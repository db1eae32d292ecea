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

    def test_a_filter_needs_all_of_its_conditions_and_any_of_its_values(self):
        wanted = parse_filter("policy=loop|thread,store=sqlite")
        self.assertTrue(matches(CELL, [wanted]))
        self.assertFalse(matches(cell(store="memory"), [wanted]))

    def test_filters_add_up(self):
        self.assertTrue(matches(CELL, [parse_filter("store=memory"), parse_filter("clients=200")]))

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
    def at(self, cores, store, cpus):
        placement = place(cell(cores=cores, store=store), cpus)
        return placement.server, placement.client, placement.database, placement.shared

    def test_the_client_is_pinned_away_from_the_server(self):
        self.assertEqual(self.at(1, "sqlite", (0, 1)), ((0,), (1,), (), False))

    def test_with_one_cpu_left_client_and_database_share_it(self):
        self.assertEqual(self.at(1, "postgresql", (0, 1)), ((0,), (1,), (1,), False))

    def test_with_more_left_the_client_has_one_and_the_database_the_others(self):
        self.assertEqual(self.at(1, "postgresql", (0, 1, 2, 3)), ((0,), (3,), (1, 2), False))

    def test_with_none_left_all_share_and_the_words_say_so(self):
        self.assertEqual(self.at(2, "postgresql", (0, 1)), ((0, 1), (0, 1), (0, 1), True))
        self.assertIn(
            "shares the CPUs of the server",
            place(cell(cores=2), (0, 1)).words,
        )


class Arguments(unittest.TestCase):
    def test_a_sustained_trial_of_the_sweep(self):
        arguments = loadgen_arguments(
            CELL, place(CELL, (0, 1)), 3, Settings(seconds=1, warmup=0.25)
        )
        self.assertEqual(
            " ".join(arguments),
            "-c 200 --policy loop --workload create -d 1 --warmup 0.25 --connection persistent "
            "--server-cpus 0 --client-cpus 1 --seed 1003 --no-progress",
        )

    def test_a_burst_of_table_a(self):
        burst = Cell("a", "burst", "pool-40", "transactions", 150, 0, 0, "postgresql")
        database = ("postgresql://x", 42)
        arguments = loadgen_arguments(burst, place(burst, (0, 1)), 1, Settings(), *database)
        self.assertEqual(
            " ".join(arguments),
            "-c 150 --policy pool --server-threads 40 --workload transactions -n 150 --connection per-request "
            "--store postgresql://x --database-pid 42 --seed 1001 --no-progress",
        )

    def test_idle_connections_get_a_longer_warmup(self):
        idle = cell(policy="thread", idle=10_000, store="memory")
        self.assertIn(
            "--warmup 2 --connection persistent --idle 10000 --store memory:",
            " ".join(loadgen_arguments(idle, place(idle, (0, 1)), 1, Settings())),
        )


if __name__ == "__main__":
    unittest.main()
