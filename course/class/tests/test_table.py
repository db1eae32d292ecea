"""Tables of spreadsheets and course systems, and text in any encoding."""

import tempfile
import unittest
from pathlib import Path

import support  # noqa: F401
import table
from table import folded, harmless, visible, without_guard


class Tables(unittest.TestCase):
    def test_tables_as_spreadsheets_write_them(self):
        for text in (
            'name,email\n"Ada, Countess",ada@x.org\n"Alan ""T""",\n',
            '\ufeffname,email\r\n\r\n"Ada, Countess",ada@x.org\r\n,\r\n"Alan ""T"""',
            'name;email\nAda, Countess;ada@x.org\n"Alan ""T""";\n',
            'name\temail\nAda, Countess\tada@x.org\n"Alan ""T"""\t',
            '\ufeffsep=;\r\n name ; email\t\r\nAda, Countess;ada@x.org\n"Alan ""T""";\n',
            'sep=,\nname,email\n"Ada, Countess",ada@x.org\n"Alan ""T""",\n',
        ):
            with self.subTest(text):
                found = table.parse(text)
                self.assertEqual(["name", "email"], found.heading)
                rows = [["Ada, Countess", "ada@x.org"], ['Alan "T"', ""]]
                self.assertEqual(rows, found.rows)
                again = table.parse(found.text())
                self.assertEqual(
                    (rows, found.separator, text[0] == "\ufeff"),
                    (again.rows, again.separator, again.has_mark),
                )
        self.assertEqual([["two\nlines", "x"]], table.parse('a,b\n"two\nlines",x').rows)

    def test_what_is_no_table_is_reported_with_its_line(self):
        for text, error in (
            ("", "line 1: a heading with the names of the columns is missing"),
            ("a,b\n1,2\n\n1,2,3\n", "line 4: 3 cells, but the heading has 2"),
            ('a,b\n"1,2\n3,4\n', "line 2: a quote that does not end"),
            ('a,b\n"1,2\n' + "3,4\n" * 50_000, "line 2: a quote that does not end"),
            ('a,b\n"Ada" L,2\n', "line 2: text behind a closing quote"),
        ):
            with self.assertRaises(ValueError) as raised:
                table.parse(text)
            self.assertEqual(error, str(raised.exception))

    def test_rows_know_their_lines(self):
        self.assertEqual([4, 6], table.parse('sep=;\na;b\n\n"two\nlines";x\n1;2\n').lines)

    def test_a_cell_that_a_spreadsheet_would_take_for_a_formula_gets_an_apostrophe(self):
        for cell in ("=1+1", "+1", "-5", "@SUM(1)", "\t=1", "\r=1"):
            self.assertEqual("'" + cell, harmless(cell))
            self.assertEqual(harmless(cell), harmless(harmless(cell)))
            self.assertEqual(cell, without_guard(harmless(cell)))
        for cell in ("", "Ada", "5", "'", "'s Gravenhage", "a=b"):
            self.assertEqual((cell, cell), (harmless(cell), without_guard(cell)))

    def test_files_in_other_encodings_are_read(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "roster")

            def read(data):
                file.write_bytes(data)
                return table.read(file)

            text = "\ufeffZ\u00e9\U0001f600\n"
            for encoding in ("utf-16-le", "utf-16-be", "utf-8"):
                self.assertEqual(text, read(text.encode(encoding)))
            self.assertEqual("\ufeff\ufffd", read(b"\xff\xfe\x3d\xd8"))  # half a pair
            latin = read(b"M\xfcller")
            self.assertEqual(b"M\xfcller", latin.encode(errors="surrogateescape"))
            with self.assertRaisesRegex(table.ClassError, "it is not text: save it as"):
                read(b"Z\0e\0")

    def test_texts_that_readers_take_for_the_same_are_equal(self):
        self.assertEqual(folded("ZOe\u0301 STRASSE"), folded("  Zo\u00e9 \t Stra\u00dfe "))
        self.assertEqual("ada lovelace", folded("Ada\u00a0Lovelace\u200b"))
        self.assertEqual("", folded("\u200b \u202e"))
        self.assertNotEqual(folded("a@x"), folded("b@x"))

    def test_of_a_name_remains_what_one_line_can_show(self):
        family = "\U0001f468\u200d\U0001f469 \u0645\u06cc\u200c\u062e"
        for name, shown in (
            (" O\u0092Brien\u202e\n von \u2028 X ", "OBrien von X"),
            ("\u200b\u00a0", ""),
            (family, family),
            ("M\udcfcller", "M\udcfcller"),  # not UTF-8
        ):
            self.assertEqual(shown, visible(name))

    def test_text_of_a_file_does_not_steer_the_terminal(self):
        self.assertEqual("a?[2J b\n\u200d", table.printable("a\x1b[2J b\n\u200d"))


if __name__ == "__main__":
    unittest.main()
