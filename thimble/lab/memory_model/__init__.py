"""Train the memory model of CoMem, so that a frozen agent acts on its summaries as on the whole history (3.4)."""
