"""Tests of the repository itself: rules that hold for every file, whoever writes it."""
