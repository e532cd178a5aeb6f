"""A run whose turns are all of one size, under each strategy: by the paper's equations, and by thimble's own code.

`synthetic` makes the run, `formula` has the equations, `rows` puts both side by side, `show` prints and draws them, and
`command` is the experiment.
"""
