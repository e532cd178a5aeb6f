import re

from thimble.agent.messages import last_turn


class Mine:
    def __init__(self):
        self.state = {}

    def prepare(self, messages, budget):
        view = self.masked(messages)
        if budget.over(view):
            for message in messages[: last_turn(messages)]:
                if message.role == "tool" and budget.size(self.masked(messages)) > 0.5 * budget.limit:
                    self.state[message.id] = "went over the budget"
        return self.masked(messages)

    def masked(self, messages):
        return [self.mask(m) if m.id in self.state else m for m in messages]

    def mask(self, message):
        values = " ".join(re.findall(r"\d{4}", message.content))
        return message.rewritten(f"[masked: {values}]", self.state[message.id])
