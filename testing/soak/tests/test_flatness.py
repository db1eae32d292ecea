"""What counts as flat."""

import random
import unittest

from flatness import judge, memory_allowed, slope, thin


def course(value_at, seconds=1800, every=5):
    return [(t, value_at(t)) for t in range(0, seconds + 1, every)]


class TestFlatness(unittest.TestCase):
    def test_the_slope_of_a_line_is_its_own_whatever_a_few_points_say(self):
        line = [(x, 3 + 2 * x) for x in range(100)]
        self.assertAlmostEqual(slope(line), 2)
        line[10], line[50], line[90] = (10, 1e9), (50, -1e9), (90, 1e9)
        self.assertAlmostEqual(slope(line), 2, places=2)
        self.assertEqual(slope([]), 0)
        self.assertEqual(slope([(1, 5)]), 0)

    def test_thinning_keeps_the_course(self):
        points = [(x, x) for x in range(10_000)]
        self.assertLessEqual(len(thin(points)), 400)
        self.assertEqual(thin(points)[0], points[0])
        self.assertAlmostEqual(slope(thin(points)), 1)
        self.assertEqual(thin(points[:5]), points[:5])

    def test_memory_that_grows_at_first_and_then_stays_is_flat(self):
        unrest = random.Random(1)
        points = course(lambda t: 30 + 20 * min(1, t / 600) + unrest.uniform(-1, 1))
        judgement = judge("resident memory", "MiB", points, memory_allowed)
        self.assertTrue(judgement.passed, judgement.sentence())
        self.assertAlmostEqual(judgement.level, 50, delta=1)

    def test_a_leak_of_a_byte_an_order_is_found(self):
        unrest = random.Random(1)
        orders_per_s = 20_000
        points = course(lambda t: 40 + orders_per_s * t / (1 << 20) + unrest.uniform(-1, 1))
        judgement = judge("resident memory", "MiB", points, memory_allowed)
        self.assertFalse(judgement.passed, judgement.sentence())
        self.assertIn("FAILED", judgement.sentence())
        self.assertAlmostEqual(judgement.growth, orders_per_s * 900 / (1 << 20), delta=1)

    def test_a_descriptor_lost_now_and_then_is_found(self):
        self.assertFalse(judge("descriptors", "open", course(lambda t: 44 + t // 90), 4).passed)
        self.assertTrue(judge("descriptors", "open", course(lambda t: 44 + t % 3), 4).passed)

    def test_what_is_only_reported_never_fails(self):
        judgement = judge("response p99", "ms", course(lambda t: 1 + t))
        self.assertTrue(judgement.passed)
        self.assertIn("reported, not judged", judgement.sentence())

    def test_what_shrinks_is_flat(self):
        self.assertTrue(
            judge("resident memory", "MiB", course(lambda t: 100 - t / 100), memory_allowed).passed
        )
