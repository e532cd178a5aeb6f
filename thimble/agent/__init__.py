"""The agent: messages, budget, views, ledger, events, protocols and the ReAct loop. Standard library only."""
