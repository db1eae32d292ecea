"""Bots: what they do (characters), where they trade (floor), and the program demo-bots."""
