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
        return [m.rewritten("[masked]", self.state[m.id]) if m.id in self.state else m for m in messages]
