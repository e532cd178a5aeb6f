"""The journal: a session as JSON Lines, written as it happens and only ever appended to; and the way back.

`records` are what is written beside the loop's events, `strand` writes a text that changes little from line to line as
what is new of it, `lines` is one record as one line and back, `past` is the session that lines tell of, `tree` its
branches, `file` the file with its lock, `shelf` the folder of all of them.
"""
