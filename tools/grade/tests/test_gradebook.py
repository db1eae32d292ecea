"""Points in the gradebooks of Canvas and Moodle, in the forms that these export and import."""

import csv
import io
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
    def filled(self, text, grades, assignment="Exchange server"):
        with TemporaryDirectory() as folder:
            file = Path(folder) / "roster.csv"
            file.write_text(text, encoding="utf-8-sig")
            written, unplaced = gradebook.filled(gradebook.read(file), grades, assignment)
        delimiter = ";" if ";" in text else ","
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
            gradebook.read("/nowhere/roster.csv")
