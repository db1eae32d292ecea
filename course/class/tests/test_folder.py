"""The files that a teacher keeps for a class."""

import fcntl
import os
import re
import select
import tempfile
import threading
import time
import unittest
from pathlib import Path

import support  # noqa: F401
from folder import Folder
from table import ClassError

SCENARIO = (
    '[student]\ncash = 5\nshares = { ABC = 7 }\n[[instrument]]\nsymbol = "ABC"\n'
    '[[bots]]\ncharacter = "bear"\ncount = 2\n'
)


class Class(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.place = Path(holder.name)
        self.made = Folder(str(self.place / "class"))
        self.addCleanup(self.made.unlock)
        self.write("scenario", SCENARIO)

    def write(self, name, text):
        self.place.joinpath(name).write_text(text, encoding="utf-8", errors="surrogateescape")

    def init(self, roster=None, names=(), identity="", check=lambda *_: None):
        """How many students are new, and the sentences for the teacher."""
        if roster is not None:
            self.write("roster", roster)
        files = str(self.place / "roster"), str(self.place / "scenario")
        added, remarks = self.made.write(*files, "http://x/", list(names), identity, check)
        return added, [one.removeprefix(f"{self.place}/") for one in remarks]

    def error(self, roster=None, **words):
        try:
            self.init(roster, **words)
        except ClassError as error:
            return str(error).replace(f"{self.place}/", "")
        return ""

    def students(self):
        return self.made.students(self.made.scenario())

    def names(self):
        return [one.shown_as for one in self.students()]

    def keys(self):
        return self.made.keys.read_text(encoding="utf-8")

    def test_a_roster_becomes_accounts_names_keys_and_links(self):
        roster = "Last name;First name;Email\nLovelace;Ada;ada@x\nTuring;Alan;alan@x\n"
        self.assertEqual((2, []), self.init(roster))
        ada, alan = self.students()
        self.assertEqual(("1001", "Ada Lovelace", 48), (ada.account, ada.shown_as, len(ada.key)))
        self.assertEqual("1002", alan.account)
        self.assertNotEqual(ada.key, alan.key)
        table, account = self.made.students_table()
        self.assertEqual("Last name,First name,Email,account,shown as".split(","), table.heading)
        self.assertEqual("1002", table.rows[1][account])
        self.assertIn(f";http://x/#sign-in=1001:{ada.key}\n", self.keys())
        bots = self.made.bots(self.made.scenario())
        self.assertEqual(
            [("6001", "bear 1"), ("6002", "bear 2")], [(one.account, one.shown_as) for one in bots]
        )
        for file in (self.made.keys, self.made.bots_table, self.made.operator_key):
            self.assertEqual(0o600, file.stat().st_mode & 0o777)

    def test_another_roster_keeps_accounts_and_keys_also_of_those_who_left(self):
        self.init("name,email\nAda,ada@x\nAlan,alan@x\n")
        ada, alan = self.students()
        added, _ = self.init("group,email,name\nA,grace@x,Grace\nB,ada@x,Ada L.\n")
        after = self.students()
        self.assertEqual((1, 3, "1003"), (added, len(after), after[0].account))
        self.assertEqual(
            [(ada.account, ada.key), (alan.account, alan.key)],
            [(one.account, one.key) for one in after[1:]],
        )
        self.assertEqual("alan@x", self.made.students_table()[0].rows[2][1])
        self.assertEqual(0, self.init()[0])

    def test_columns_that_a_teacher_adds_and_moves_do_not_matter(self):
        self.init("name,email\nAda,ada@x\n")
        (ada,) = self.students()
        moved = f"sent,key,Email,name,account,link,shown as\nyes,{ada.key},ada@x,Ada,1001,,Ada\n"
        self.made.keys.write_text(moved)
        self.assertEqual(0, self.init()[0])
        self.assertEqual([("1001", ada.key)], [(one.account, one.key) for one in self.students()])
        self.made.keys.write_text("name,email,account\nAda,ada@x,1001\n")
        self.assertEqual("class/keys.csv has no column 'shown as'", self.error())

    def test_bots_keep_accounts_and_keys_while_a_scenario_is_without_them(self):
        self.init("name\nAda\n")
        before = self.made.bots_table.read_text()
        self.write("scenario", SCENARIO.partition("[[bots]]")[0])
        self.init()
        self.assertEqual([], self.made.bots(self.made.scenario()))
        self.write("scenario", SCENARIO)
        self.init()
        self.assertEqual(before, self.made.bots_table.read_text())

    def test_a_leaderboard_shows_nothing_of_a_roster_but_names(self):
        self.assertIn("roster has no column 'name', and none of", self.error("email\nada@x\n"))
        self.assertIn(
            "roster, line 2: the name 'Jos\udce9' is not UTF-8", self.error("name\nJos\udce9\n")
        )
        self.write("scenario", "anonymous = true\n" + SCENARIO)
        self.assertEqual("", self.error("email\nada@x\n"))

    def test_invented_names_are_different_and_accounts_follow_no_order(self):
        self.write("scenario", "anonymous = true\n" + SCENARIO)
        self.init("name\n" + "".join(f"student {nth}\n" for nth in range(1_000)))
        students = self.students()
        self.assertEqual(1_000, len({one.shown_as for one in students}))
        self.assertFalse([one for one in students if "student" in one.shown_as])
        accounts = [int(one.account) for one in students]
        self.assertEqual(list(range(1001, 2001)), sorted(accounts))
        self.assertNotEqual(sorted(accounts), accounts)

    def test_long_names_are_cut_between_characters_and_empty_ones_are_accounts(self):
        self.init(f"email,name\na@x, {'x' * 39}é\nb@x,\n")
        self.assertEqual(["x" * 39, "1002"], self.names())

    def test_a_roster_or_scenario_that_cannot_be_used_leaves_the_class_as_it_is(self):
        for roster, error in (
            (
                "name,email\nAda,ada@x\nEve,ada@x\n",
                "roster: two students have the email 'ada@x', in lines 2 and 3; --id-column COLUMN "
                "chooses another column to tell them apart",
            ),
            (
                "name,email\nAda,\nAlan,alan@x\n,\nEve, \n",
                "roster: students without email, which tells them apart: line 2 (Ada), line 5 "
                "(Eve). Fill it in, or choose another column with --id-column COLUMN",
            ),
            ("name\nAda,ada@x\n", "roster, line 2: 2 cells, but the heading has 1"),
        ):
            self.assertEqual(error, self.error(roster))
        self.assertFalse(self.made.path.exists())
        self.init("name,email\nAda,ada@x\n")
        self.write("scenario", "nonsense")
        self.assertTrue(self.error())
        self.write("scenario", SCENARIO)
        self.assertEqual("", self.error("name\nAda\n"))  # known by the name
        self.assertIn("has no column 'id'", self.error("name,id\nAda,7\n"))
        self.assertEqual(1, len(self.students()))

        def refuse(scenario, students):
            raise ClassError(f"refused for {students}")

        self.assertEqual("refused for 2", self.error("name\nEve\nBob\n", check=refuse))
        self.assertEqual(["Ada"], self.names())

    def test_rows_of_an_export_that_are_not_students_get_no_account(self):
        _, remarks = self.init(
            "Student,ID,SIS User ID,SIS Login ID,Section\n,,,,\n    Points Possible,,,,\n"
            '"Lovelace, Ada",1,007,ada,A\n"Student, Test",2,,test,A\n'
        )
        left_out = "roster: left out, since it is not a student:"
        self.assertEqual([f"{left_out} line 3 (Points Possible), line 5 (Student, Test)"], remarks)
        self.assertEqual(["Lovelace, Ada"], self.names())

    def test_one_student_has_one_account_however_the_roster_spells_it(self):
        _, remarks = self.init("name,email\nAda,ada@x\nAlan,alan@x\nAda, Ada@X \n")
        twice = "roster: one account for a student who is there twice:"
        self.assertEqual([f"{twice} Ada@X (lines 2 and 4)"], remarks)
        ada = self.students()[0]
        self.assertEqual(2, self.init("name,email\nAda,ADA@x\nAlan,alan@x\nZoé,zoé@x\n=a,=a\n")[0])
        roster = "email,name\nZOe\u0301@x,Zoé\n=A,=a\n ada@X,Ada\nAlan@x,Alan\n"
        self.assertEqual(0, self.init(roster)[0])
        self.assertEqual(ada.key, self.students()[2].key)

    def test_ids_whose_zeros_a_spreadsheet_has_lost_are_found_again(self):
        self.init("name,id\nAda,00123\nAlan,0\nEve,0456\n")
        ada = self.students()[0]
        self.made.keys.write_text(self.keys().replace("00123", "123").replace("0456", "456"))
        self.assertEqual(0, self.init()[0])
        self.assertEqual(ada.key, self.students()[0].key)
        self.assertIn("Ada,00123,1001", self.keys())
        # The roster has lost the zeros too.
        self.assertEqual(0, self.init("name,id\nAda,123\nAlan,0\nEve,456\n")[0])
        # Another student has the number without zeros.
        self.assertEqual(1, self.init("name,id\nAda,00123\nAlan,0\nBob,00456\n")[0])
        self.assertEqual(0, self.init("name,id\nAda,00123\nAlan,0\nEve,0456\n")[0])
        # 123 is another student if the roster has both.
        gone = "not in the roster now, but with an account of before: 0456, 00456"
        self.assertEqual((1, [gone]), self.init("name,id\nAda,00123\nBob,123\nAlan,0\n"))

    def test_columns_are_found_by_english_and_german_headings_or_as_they_are_chosen(self):
        self.init("Nachname; Vorname \nMüller;Jürgen\nMüller;Ada\n")
        self.assertEqual(["Jürgen Müller", "Ada Müller"], self.names())
        self.made.keys.unlink()
        roster = "prénom,nom,numéro\nAda,Lovelace,1\nAda,Byron,2\n"
        columns = "its columns are prénom, nom, numéro"
        self.assertIn(f"{columns}. --name-column COLUMN chooses one (twice:", self.error(roster))
        self.init(names=["PRÉNOM", "nom"], identity="Numéro")
        self.assertEqual(["Ada Lovelace", "Ada Byron"], self.names())
        self.assertEqual(f"roster has no column 'id'; {columns}", self.error(identity="id"))

    def test_keys_csv_is_a_table_like_the_roster_and_starts_no_formula(self):
        for _ in range(2):
            self.init("\ufeffName;E-Mail\n=1+1;-a@x\nAda;b@x\n")
            heading = "\ufeffName;E-Mail;account;shown as;key;link\n"
            self.assertTrue(self.keys().startswith(f"{heading}'=1+1;'-a@x;1001;'=1+1;"))
            self.assertEqual(["=1+1", "Ada"], self.names())

    def test_names_have_visible_characters_and_one_name_of_two_is_reported(self):
        _, remarks = self.init(
            "name,email\nO\u0092Brien\u202e,a@x\n\u200b,b@x\nAda,c@x\n ADA,d@x\n"
        )
        change = "'exchange-cli admin name ACCOUNT NAME' gives one another name"
        shown = "the leaderboard shows accounts 1003, 1004 as 'Ada'"
        self.assertEqual([f"{shown}: {change}"], remarks)
        self.assertEqual(["OBrien", "1002", "Ada", "ADA"], self.names())

    def test_a_draft_of_another_user_does_not_become_a_file_of_keys(self):
        self.init("name\nAda\n")
        draft, elsewhere = self.made.keys.with_name("keys.csv.new"), self.place / "elsewhere"
        elsewhere.touch()
        for make in (lambda: draft.touch(0o666), lambda: draft.symlink_to(elsewhere)):
            make()
            self.init()
            self.assertEqual(0o600, self.made.keys.lstat().st_mode & 0o777)
        self.assertEqual("", elsewhere.read_text())

    def test_two_commands_do_not_change_one_class_at_once(self):
        self.init("name\nAda\n")
        other = Folder(str(self.made.path))
        with self.assertRaisesRegex(ClassError, "^another command changes the class in .* now$"):
            other.lock()
        self.made.unlock()
        other.lock()
        other.unlock()

    def test_of_bots_one_process_runs(self):
        self.init("name\nAda\n")
        end, inherited = os.pipe()
        self.addCleanup(os.close, end)
        with open(self.made.path / "bots.lock", "w") as status:  # which has it for a moment
            fcntl.flock(status, fcntl.LOCK_SH)
            release = threading.Timer(0.1, fcntl.flock, (status, fcntl.LOCK_UN))
            release.start()
            self.made.start_bots(lambda: time.sleep(60))
            release.join()
        self.assertIsNone(self.made.start_bots(lambda: None))
        process = self.made.bots_process()
        self.made.unlock()
        self.made.lock()  # the bots do not hold it
        self.assertFalse(select.select([end], [], [], 0)[0])
        os.close(inherited)
        self.assertTrue(select.select([end], [], [], 5)[0])  # the bots do not have it
        self.assertTrue(self.made.stop_bots(30))
        self.assertIsNone(self.made.bots_process())
        self.assertTrue(re.fullmatch(r"\d+", str(process)))


if __name__ == "__main__":
    unittest.main()
