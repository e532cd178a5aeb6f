"""A report of an experiment: one page and its data.

`report` is the page, `drawing` draws its three kinds of figures as SVG, `scale` places numbers on an axis, `cells`
writes values, and `flag` is the flag `--report`.
"""
