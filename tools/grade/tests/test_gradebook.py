"""Points in the gradebooks of Canvas and Moodle, in the forms that these export and import."""

import csv
import io
import re
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

import gradebook
from submissions import BadInput, Submission

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Essay (11),Exchange server (12),Final Score
    Points Possible,,,,,10,50,(read only)
"Lovelace, Ada",42,u42,al7,Section 1,9,,90
"Babbage, Charles",43,u43,cb8,Section 1,8,7,80
"Student, Test",99,,abc,Section 1,,,
"""
WORKSHEET = """\
Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,Last modified (grade),Feedback comments
Participant 4711,Ada Lovelace,ada@uni.example,Submitted for grading,,20.00,Yes,-,
Participant 4712,Charles Babbage,cb@uni.example,Submitted for grading,3.00,20.00,Yes,"Monday, 2 November 2026, 9:00 AM",good
"""
GRADES = """\
First name,Last name,ID number,Email address,Assignment: Exchange server (Real)
Ada,Lovelace,100,ada@uni.example,-
Charles,Babbage,101,cb@uni.example,-
"""


def one(name, *students):
    return Submission(name, Path("."), students=list(students))


class Gradebook(unittest.TestCase):
    def filled(self, text, grades, assignment="Exchange server", encoding="utf-8-sig"):
        with TemporaryDirectory() as folder:
            file = Path(folder) / "roster.csv"
            file.write_text(text, encoding=encoding)
            roster = gradebook.read(file, assignment)
            written, unplaced = gradebook.filled(roster, grades, assignment)
        delimiter = roster.delimiter
        return list(csv.reader(io.StringIO(written), delimiter=delimiter)), unplaced

    def test_canvas_gets_its_columns_and_the_assignment_alone(self):
        ada = one("lovelaceada", ["42", "lovelaceada"])
        rows, unplaced = self.filled(CANVAS, [(ada, 80, 100)])
        head = "Student,ID,SIS User ID,SIS Login ID,Section,Exchange server (12)".split(",")
        self.assertEqual(head, rows[0])
        self.assertEqual(["    Points Possible", "", "", "", "", "50"], rows[1])
        self.assertEqual(["Lovelace, Ada", "42", "u42", "al7", "Section 1", "40.00"], rows[2])
        self.assertEqual("7", rows[3][-1])  # an empty cell would delete it
        self.assertEqual([], unplaced)

    def test_canvas_gets_a_new_assignment_with_its_points(self):
        rows, _ = self.filled(CANVAS, [(one("cb8"), 60, 90)], "Server")
        self.assertEqual(["Server", "90", "", "60.00", ""], [row[-1] for row in rows])

    def test_a_worksheet_of_moodle_is_filled_in_and_stays_as_it_is(self):
        group = one("group", ["4711", "Ada Lovelace"], ["none@uni.example", "Charles Babbage"])
        rows, unplaced = self.filled(WORKSHEET, [(group, 50, 100)])
        before = list(csv.reader(io.StringIO(WORKSHEET)))
        for row in before[1:]:
            row[4] = "10.00"
        self.assertEqual((before, []), (rows, unplaced))

    def test_exported_grades_of_moodle_are_filled_in(self):
        rows, _ = self.filled(GRADES, [(one("Lovelace Ada"), 70, 100), (one("cb"), 0, 100)])
        self.assertEqual(["70.00", "0.00"], [row[-1] for row in rows[1:]])
        rows, _ = self.filled(GRADES.replace(",", ";"), [(one("100"), 70, 100)], "Server")
        self.assertEqual(["Server", "70.00", ""], [row[-1] for row in rows])

    def test_who_cannot_be_placed_is_named_and_gets_nothing(self):
        twins = GRADES + "Ada,Lovelace,102,al@uni.example,-\n"
        failed = Submission("cb", Path("."), problem="its build failed")
        given = [(one("Ada Lovelace"), 70, 100), (one("eve"), 1, 100), (failed, None, 100)]
        rows, unplaced = self.filled(twins, given)
        self.assertEqual(["-", "-", "-"], [row[-1] for row in rows[1:]])
        self.assertEqual(3, len(unplaced))
        self.assertIn("cb was not graded: its cell stays as it was", unplaced)

    def test_what_is_no_table(self):
        for text in ("", "a,b\n", "words\nmore\n"):
            with self.assertRaises(BadInput, msg=text):
                self.filled(text, [])
        with self.assertRaises(BadInput):
            gradebook.read("/nowhere/roster.csv", "Server")

    def test_of_two_that_would_fill_one_row_none_wins(self):
        ada, eve = one("ada", ["4711", "Ada Lovelace"]), one("eve", ["eve@x", "Ada Lovelace"])
        for given in ([(ada, 90, 100), (eve, 10, 100)], [(eve, 10, 100), (ada, None, 100)]):
            rows, unplaced = self.filled(WORKSHEET, given)
            self.assertEqual(["", "3.00"], [row[4] for row in rows[1:]])
            self.assertIn(
                "would fill the same row, Participant 4711 Ada Lovelace", "".join(unplaced)
            )

    def test_a_number_counts_where_students_are_named_and_with_their_name(self):
        """Not if it is that of a group, or equal to the points of another."""
        team, bob = one("Team", ["4711", "Team 7"]), one("bob", ["9", "bob"])
        rows, unplaced = self.filled(WORKSHEET, [(team, 90, 100)])
        self.assertEqual(["", "3.00"], [row[4] for row in rows[1:]])
        self.assertEqual(["Team 7 has the number 4711 of another name in the roster"], unplaced)
        rows, unplaced = self.filled(CANVAS, [(bob, 90, 100)])  # 9 are Ada's points of the essay
        self.assertEqual("", rows[2][-1])
        self.assertEqual(["bob is not in the roster, or not alone"], unplaced)
        german = "ID,Name,Bewertung,Maximum\nTeilnehmer 4711,Ada,20,20\nTeilnehmer 4712,Bob,,20\n"
        rows, unplaced = self.filled(german, [(one("x", ["20", "x"]), 9, 9)], "Bewertung")
        self.assertEqual(["20", ""], [row[2] for row in rows[1:]])
        blind = "Identifier,Status,Grade,Maximum Grade\nParticipant 4711,Submitted,,20\n"
        rows, _ = self.filled(blind, [(one("x", ["4711", "Teilnehmer in"]), 90, 100)])
        self.assertEqual("18.00", rows[1][2])

    def test_names_are_compared_as_people_read_them(self):
        decomposed = "Name,Login\nZoe\u0308  Mu\u0308ller ,z\n"
        rows, unplaced = self.filled(decomposed, [(one("zo\xeb m\xfcller"), 7, 7)])
        self.assertEqual(("7.00", []), (rows[1][2], unplaced))
        rows, unplaced = self.filled("Name,Login\nZo\xeb,z\n", [(one("Zoe\u0308"), 7, 7)])
        self.assertEqual(("7.00", []), (rows[1][2], unplaced))

    def test_headings_may_have_blanks_and_other_letters(self):
        text = " student , ID ,SIS User ID,SIS Login ID, SECTION ,EXCHANGE  server (12) \n"
        text += "  points possible ,,,,,50\nAda,42,u,a,S,\n"
        rows, _ = self.filled(text, [(one("42"), 80, 100)])
        self.assertEqual(["50", "40.00"], [row[-1] for row in rows[1:]])

    def test_a_student_may_be_called_points_possible(self):
        text = "Name,Login,Server\nPoints Possible,p,1\nAda,a,\n"
        rows, _ = self.filled(text, [(one("a"), 80, 100), (one("p"), 40, 100)], "Server")
        self.assertEqual(["40.00", "80.00"], [row[-1] for row in rows[1:]])

    def test_a_line_that_names_the_separator_is_left_out(self):
        for line in ("sep=;", '"SEP=;"'):
            rows, _ = self.filled(f"{line}\r\nName;E,Mail,x\r\nAda;a@x\r\n", [(one("a"), 1, 1)])
            self.assertEqual([["Name", "E,Mail,x", "Exchange server"]], rows[:1])
            self.assertEqual(["Ada", "a@x", "1.00"], rows[1])

    def test_what_a_spreadsheet_saves_as_unicode_text_is_read(self):
        for encoding in ("utf-16", "utf-8", "utf-8-sig"):
            text = '"Name, all"\tLogin\nZo\xeb\tz\n'
            rows, _ = self.filled(text, [(one("Zo\xeb"), 1, 1)], encoding=encoding)
            self.assertEqual(["Zo\xeb", "z", "1.00"], rows[1])
        rows, _ = self.filled("sep=;\rName;Login\rZoe;z\r", [(one("z"), 1, 1)])  # of old Macs
        self.assertEqual(["Zoe", "z", "1.00"], rows[1])
        with self.assertRaisesRegex(BadInput, "neither UTF-8 nor UTF-16"):
            self.filled("Name,Login\nZo\xeb,z\n", [], encoding="latin-1")

    def test_a_table_that_would_lose_students_is_refused(self):
        long = "x" * 200_000
        for text, words in (
            ('Name,Login\nAda,"a\nBob,b\n', "from line 2 on a quote does not end"),
            (f'Name,Login\nAda,a\nBob,"{long}\n', "from line 3 on a quote does not end"),
            ('Name,Login\nAda,"a\nBob,"b"\n', "text follows it"),
            ("Name,Login\nLovelace, Ada,a\n", "line 2 has more cells than the 2"),
            ("Server (1),Server (2),Name\n,,Ada\n", "has 2 columns 'Server (1)'"),
        ):
            with self.assertRaisesRegex(BadInput, re.escape(words)):
                self.filled(text, [], "Server")
        rows, _ = self.filled(f'Name,Login\nAda,a,,\nBob,"{long}"\n', [(one("ada"), 1, 1)])
        self.assertEqual(long, rows[2][1])
