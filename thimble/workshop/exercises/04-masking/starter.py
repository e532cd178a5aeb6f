def prepare(messages, budget):
    view = []
    for message in messages:
        if message.role == "tool":
            message = message.rewritten("[masked]", "it is a result")
        view.append(message)
    return view
