from thimble.agent.turns import pinned


def prepare(messages, budget):
    tokens = budget.overhead + sum(budget.count(message) for message in messages)
    if tokens <= budget.limit:
        return messages
    stays = pinned(messages)
    return [message for message in messages if message in stays]
