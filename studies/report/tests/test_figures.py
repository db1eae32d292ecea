"""Counts in sentences."""

import unittest

from figures import counted


class Counts(unittest.TestCase):
    def test_one_is_not_several(self):
        self.assertEqual(
            ["0 servers", "1 server", "2 servers", "1,200 servers"],
            [counted(number, "server") for number in (0, 1, 2, 1200)],
        )
        self.assertEqual("1 core was", counted(1, "core was", "cores were"))
        self.assertEqual("3 cores were", counted(3, "core was", "cores were"))


if __name__ == "__main__":
    unittest.main()
