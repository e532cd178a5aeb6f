from thimble.agent.messages import turns
from thimble.agent.turns import pinned


def prepare(messages, budget):
    stays = pinned(messages)
    newest = turns(messages)[-3:]
    start = newest[0].start if newest else 0
    return [message for place, message in enumerate(messages) if place >= start or message in stays]
