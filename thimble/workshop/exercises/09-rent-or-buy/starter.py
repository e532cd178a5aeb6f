from thimble.agent.messages import turns


class Mine:
    priced = True

    def __init__(self):
        self.state = {"masked": [], "rent": 0}

    def prepare(self, messages, budget):
        newest = turns(messages)[-4:]
        end = newest[0].start if newest else 0
        self.state["masked"] = [message.id for message in messages[:end] if message.role == "tool"]
        return self.view(messages, self.state["masked"])

    def view(self, messages, masked):
        return [m.rewritten("[masked]", "its rent was paid") if m.id in masked else m for m in messages]
