from thimble.agent.turns import pinned


def prepare(messages, budget):
    letters = sum(len(message.content) for message in messages)
    if letters / 4 <= budget.limit:
        return messages
    stays = pinned(messages)
    return [message for message in messages if message in stays]
