import re
from dataclasses import dataclass, field

from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, turns
from thimble.agent.turns import pinned


@dataclass
class Mine:
    model: object
    state: dict = field(default_factory=dict)

    def prepare(self, messages, budget):
        if budget.over(self.view(messages)) and len(turns(messages)) > 2:
            self.fold(messages)
        return self.view(messages)

    def fold(self, messages):
        stays = pinned(messages)
        end = turns(messages)[-2].start
        old = [message for message in messages[:end] if message not in stays]
        text = "\n".join(message.content for message in old)
        request = [Message("request", "user", f"Say in a few sentences what this says:\n{text}")]
        try:
            summary = self.model.ask(request, "summary", max_tokens=100)
        except ModelError:
            return
        values = re.findall(r"[^.]*\b\d{4}\b[^.]*\.", text)
        self.state["summary"] = f"{summary}\nWord for word:{''.join(values)}"
        self.state["covers"] = [message.id for message in old]

    def view(self, messages):
        covers = self.state.get("covers", [])
        if not covers:
            return messages
        summary = Message("summary", "user", self.state["summary"], why="a summary", covers=tuple(covers))
        place = next(place for place, message in enumerate(messages) if message.id in covers)
        rest = [message for message in messages[place:] if message.id not in covers]
        return [*messages[:place], summary, *rest]
