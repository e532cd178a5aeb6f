"""The memory model of CoMem, trained so that a frozen agent acts on its summaries as on the whole history (3.4)."""
