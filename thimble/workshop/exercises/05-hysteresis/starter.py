from thimble.agent.messages import turns


class Mine:
    def prepare(self, messages, budget):
        view = list(messages)
        for turn in turns(messages)[:-1]:
            for place in turn:
                if budget.over(view) and view[place].role == "tool":
                    view[place] = view[place].rewritten("[masked]", "over the budget")
        return view
