from thimble.agent.messages import common_prefix, last_turn, turns


class Mine:
    priced = True

    def __init__(self):
        self.state = {"masked": [], "rent": 0}

    def prepare(self, messages, budget):
        newest = turns(messages)[-4:]
        end = newest[0].start if newest else 0
        old = [message.id for message in messages[:end] if message.role == "tool"]
        now, then = self.view(messages, self.state["masked"]), self.view(messages, old)
        cached = budget.size(now[: last_turn(messages)])
        kept = min(cached, budget.size(now[: common_prefix(now, then)]))
        prompt = budget.prices.prompt
        price = prompt(budget.size(then), kept) - prompt(budget.size(now), cached)
        self.state["rent"] += budget.prices.cached * (budget.size(now) - budget.size(then))
        if old and self.state["rent"] >= price:
            self.state = {"masked": old, "rent": 0}
        return self.view(messages, self.state["masked"])

    def view(self, messages, masked):
        return [m.rewritten("[masked]", "its rent was paid") if m.id in masked else m for m in messages]
