from thimble.agent.turns import pinned


def prepare(messages, budget):
    stays = pinned(messages)
    start = len(messages) - 4
    return [message for place, message in enumerate(messages) if place >= start or message in stays]
