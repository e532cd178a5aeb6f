from thimble.agent.messages import blocks
from thimble.agent.turns import pinned


class Mine:
    def __init__(self):
        self.state = {}

    def prepare(self, messages, budget):
        if budget.over(self.shown(messages)):
            stays = pinned(messages)
            old = [[messages[at] for at in block] for block in blocks(messages)[:-1]]
            old = [turn for turn in old if turn[0].id not in self.state and turn[0] not in stays]
            for turn in sorted(old, key=lambda turn: self.tokens_per_result(turn, budget), reverse=True):
                if budget.size(self.shown(messages)) > 0.7 * budget.limit:
                    self.state.update({message.id: "large" for message in turn})
        return self.shown(messages)

    def tokens_per_result(self, turn, budget):
        results = sum(message.role == "tool" for message in turn)
        return sum(map(budget.count, turn)) / max(results, 0.2)

    def shown(self, messages):
        return [message for message in messages if message.id not in self.state]
