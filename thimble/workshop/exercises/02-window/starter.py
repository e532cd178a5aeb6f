def prepare(messages, budget):
    return messages[-4:]
