"""Campaigns: one claim of the library each, tried many thousand times, with seeds that repeat every case."""
