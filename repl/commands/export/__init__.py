"""Exports: a session as one file that needs no thimble and no network, a format a file.

`story` is what the journal tells of the current branch, `retold` is the screen on which it was told. `document` (JSON),
`markdown`, `page` (HTML, with its style and its script in files of their own) and `picture` (SVG, which `drawing`
draws) are the formats, `export` is /export.
"""
