import unittest

from invoice.lines import Line
from invoice.money import split, text
from invoice.report import bill


class Money(unittest.TestCase):
    def test_even_split(self):
        self.assertEqual(split(900, 3), [300, 300, 300])

    def test_no_cent_is_lost(self):
        self.assertEqual(sum(split(1000, 3)), 1000)

    def test_shares_differ_by_a_cent_at_most(self):
        shares = split(1001, 4)
        self.assertEqual(sum(shares), 1001)
        self.assertLessEqual(max(shares) - min(shares), 1)

    def test_nobody_to_pay(self):
        with self.assertRaises(ValueError):
            split(1000, 0)


class Words(unittest.TestCase):
    def test_text(self):
        self.assertEqual(text(1905), "19.05")

    def test_bill(self):
        lines = [Line("tea", 250), Line("cake", 350)]
        self.assertEqual(bill(lines, 2), ["person 1 pays 3.00", "person 2 pays 3.00"])
