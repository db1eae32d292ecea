"""What the documents name exists: linked files and headings, paths, programs, test cases,
variables, metrics."""

import fnmatch
import re
import unittest

from tree import ROOT, tracked

FOLDERS = "server|client|testing|studies|course|docs|db|ops"
# Made by a command that the page names, or an example.
NOT_IN_TREE = re.compile(r"/NAME|/what_it_was|\.\.\.|…")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(rf"(?<![\w./-])(?:{FOLDERS})/[\w.*/-]*[\w*/]")
PROGRAM = re.compile(r"\bbuild[\w-]*/bin/([\w-]+)")
TEST_CASE = re.compile(r'\b(\w+_tests) "([^"]+)"')
VARIABLE = re.compile(r"\bEXCHANGE_[A-Z_]+[A-Z]")
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
# flags of programs that are not ours
FOREIGN_FLAGS = set(
    "--cacert --data-binary --data-checksums --drainer-core --enable --engine --entrypoint"
    " --list-tests --matcher-core --mode --name --now --require-hashes --scenario"
    " --unix-socket --workflow".split()
)
METRIC = re.compile(r"\bexchange_\w+_(?:total|seconds|max)\b")


def text_of(*patterns):
    return "\n".join(path.read_text(errors="replace") for path in tracked(*patterns))


def built_programs():
    lists = text_of("*CMakeLists.txt")
    built = set(
        re.findall(r"(?:add_executable|add_test_binary|add_python_program)\(\s*([\w-]+)", lists)
    )
    return built | {f"replay_{path.stem}" for path in (ROOT / "testing/fuzz").glob("*.cpp")}


def anchors(page):
    """The ids that GitHub gives to headings, and those written by hand."""
    text = page.read_text()
    found = set(re.findall(r'<a id="([^"]+)"', text))
    for heading in re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M
    ):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


class Documents(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        # Not the changelog, which names what is gone.
        cls.pages = {
            page: page.read_text()
            for page in tracked("*.md")
            if not page.name.startswith("CHANGELOG")
        }

    def check(self, find, exists):
        """Each thing that `find` gets out of a page must exist; all that do not are named."""
        missing = sorted(
            f"{page.relative_to(ROOT)}: {thing}"
            for page, text in self.pages.items()
            for thing in set(find(text))
            if not exists(page, thing)
        )
        self.assertEqual([], missing)

    def test_the_minimal_server_names_every_rule_of_the_level_must(self):
        rules = re.findall(
            r"^- \*\*(\w+)\*\* (?:[^\n]|\n  )*\(must: ", self.pages[ROOT / "docs/protocol.md"], re.M
        )
        self.assertGreater(len(rules), 20)
        page = self.pages[ROOT / "course/docs/minimal-server.md"]
        self.assertEqual([], [rule for rule in rules if not re.search(rf"\b{rule}\b", page)])

    def test_links_lead_to_files_and_headings(self):
        def exists(page, link):
            if "://" in link or link.startswith("mailto:"):
                return True
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                return False
            return not anchor or target.suffix != ".md" or anchor in anchors(target)

        self.check(LINK.findall, exists)

    def test_files_that_a_page_shows_are_as_it_shows_them(self):
        """A block behind a link to its file and a colon; it may leave out what the file says of
        itself."""
        shown = {
            (page, path): block
            for page, text in self.pages.items()
            for path, block in re.findall(
                r"\]\(([^)#]+)\):\n\n```\w*\n(.*?)^```", text, re.M | re.S
            )
        }
        self.assertGreaterEqual(len(shown), 2)
        for (page, path), block in shown.items():
            text = (page.parent / path).read_text()
            with self.subTest(page=page.name, file=path):
                self.assertIn(block, (text, text.partition("\n\n")[2]))

    def test_paths_exist(self):
        def exists(page, path):
            return NOT_IN_TREE.search(path) or any(ROOT.glob(path.rstrip("/")))

        # without addresses and links, which have their own test
        self.check(lambda text: PATH.findall(re.sub(r"\]\([^)]*\)|https?://\S+", "", text)), exists)

    def test_programs_are_built(self):
        self.check(PROGRAM.findall, lambda page, name: name in built_programs())

    def test_test_cases_exist(self):
        macro = r'TEST_CASE(?:_METHOD)?\((?:\s*\w+,)?\s*((?:"(?:[^"\\]|\\.)*"\s*)+)'
        cases = re.findall(macro, text_of("*.cpp"))
        names = [re.sub(r'"\s*"', "", case.strip())[1:-1] for case in cases]

        def exists(page, wanted):
            return all(fnmatch.filter(names, pattern) for pattern in wanted[1].split(","))

        self.check(TEST_CASE.findall, exists)

    def test_names_in_checklists_are_in_the_tree(self):
        """Files, functions, types and programs in backquotes; a made-up file is in /tmp."""
        text = self.pages[ROOT / "CONTRIBUTING.md"].partition("\n## Checklists\n")[2]
        files = {path.name for path in tracked("*")}
        words = set(
            re.findall(r"\w+", text_of("*.cpp", "*.hpp", "*.py", "*.go", "*CMakeLists.txt"))
        )
        words |= {"ctest", "DEFAULT"} | built_programs()
        quoted = re.findall(r"`([^`]+)`", text)
        self.assertGreater(len(quoted), 100)
        missing = set()
        for name in re.findall(r"(?<![\w./-])[A-Za-z_][\w./]*\w", "\n".join(quoted)):
            if re.search(r"\.(cpp|go|hpp|json|md|py|sql|toml)$", name):
                if name.rpartition("/")[2] not in files:
                    missing.add(name)
            elif "/" not in name:  # paths have their own test
                missing |= {word for word in re.findall(r"\w+", name) if word not in words}
        self.assertEqual(set(), missing)

    def test_variables_are_read(self):
        sources = text_of("*.cpp", "*.hpp", "*.py", "*.sh", "*.yml", "*.txt", "*Dockerfile", "*run")
        self.check(VARIABLE.findall, lambda page, name: name in sources)

    def test_flags_exist(self):
        sources = text_of("*.cpp", "*.hpp", "*.py", "*.sh", "*.yml", "*CMakeLists.txt")
        programs = [
            path for path in tracked("testing/*", "studies/*", "course/*") if "." not in path.name
        ]
        scripts = [path.read_bytes() for path in programs]
        sources += b"".join(each for each in scripts if each.startswith(b"#!")).decode()
        self.check(FLAG.findall, lambda page, flag: flag in FOREIGN_FLAGS or flag in sources)

    def test_metrics_exist(self):
        given = set(re.findall(r'"(exchange_\w+)"', text_of("server/metrics/*.hpp")))
        self.check(METRIC.findall, lambda page, name: name in given)
        readers = text_of("server/web/page/*.js", "client/*.cpp", "*.py", "ops/*")
        self.assertEqual(set(), set(METRIC.findall(readers)) - given)

    def test_the_index_has_every_page(self):
        index = (ROOT / "docs/README.md").read_text()
        pages = {page.name for page in self.pages if page.parent == ROOT / "docs"} - {"README.md"}
        self.assertEqual(set(), {name for name in pages if f"({name})" not in index})
