"""Reads what others wrote about their machines. One file a format; each returns an `Inventory`.

files ──▶ reading ──▶ merging ──▶ choosing ──▶ cluster
guess,      several     which nodes,  `cluster` of
parse       files       their GPUs    a problem file
"""
