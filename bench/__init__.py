"""Measurements: whole programs on this machine, never asserted in a test."""
