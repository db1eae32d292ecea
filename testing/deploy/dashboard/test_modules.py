"""The page's pure modules, tested where they run: inside a browser."""

import unittest

from support import Site, browser


class Modules(unittest.TestCase):
    def test_pure_modules(self):
        site = Site()
        self.addCleanup(site.close)
        page = browser().open(site.address + "/test/modules_test.js")
        self.addCleanup(page.close)
        results = page.evaluate("import('/test/modules_test.js').then((module) => module.run())")
        self.assertGreater(len(results), 20)
        for result in results:
            print(f"{'ok' if result['failure'] is None else 'FAILED'}: {result['name']}")
            with self.subTest(result["name"]):
                self.assertIsNone(result["failure"], result["failure"])
        self.assertEqual(page.complaints(), [])
