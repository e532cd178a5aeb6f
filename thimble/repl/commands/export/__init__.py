"""Exports: a session as one file that needs no thimble and no network, a format a file.

`document` (JSON), `markdown` and `page` (HTML, its style and its script in files of their own) are the formats;
`export` is /export.
"""
