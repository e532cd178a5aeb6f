"""The journal: a session as JSON Lines, written as it happens and only ever appended to; and how to read it.

`records` are the records other than the loop's events, `lines` converts a record to a line and back, with `values` for
long parts and `checksum_lines` against damage; `header` is the first line, `state` the session that lines describe,
`tree` its branches, `journal` the file with its lock, `folder` the folder of all sessions.
"""
