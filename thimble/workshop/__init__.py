"""The workshop: exercises in writing a strategy, each with a page, a starter and a check that shows what fails."""
