"""Regular expressions of RE2's syntax as tables of states, which kernels follow byte by byte."""
