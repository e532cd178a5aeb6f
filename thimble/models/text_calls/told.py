"""What a model without tools is told of them, before their list."""

TOLD = """\
You have tools. To use one, write nothing but this, then stop:
Thought: in one short sentence, why
Action: the name of the tool
Action Input: its arguments, a JSON object
The user then sends you the result as an Observation. When you can answer, write:
Final Answer: the answer

The tools, with their arguments ("?" may be left out):
"""
