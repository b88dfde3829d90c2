"""Benchmarks: never run by the tests, never timed by them."""
