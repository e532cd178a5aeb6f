from thimble.agent.messages import turns


def prepare(messages, budget):
    acting = [turn for turn in turns(messages) if messages[turn.start].calls]
    view = list(messages)
    for turn in acting[:-3]:
        for place in turn:
            if view[place].role == "tool":
                view[place] = view[place].rewritten("[masked]", "older than the 3 newest turns")
    return view
