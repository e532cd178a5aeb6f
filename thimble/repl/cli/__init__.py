"""The command line: flags, answers without a conversation, prepare, config and recordings."""
