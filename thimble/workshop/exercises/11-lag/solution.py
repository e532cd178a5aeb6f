import re
from dataclasses import dataclass, field

from thimble.agent.messages import Message, turns
from thimble.agent.turns import pinned


@dataclass
class Mine:
    model: object
    state: dict = field(default_factory=dict)
    errand: object = None

    def prepare(self, messages, budget):
        if self.errand and self.errand.look():
            self.take()
        if not self.errand and budget.size(self.view(messages)) > 0.5 * budget.limit and len(turns(messages)) > 2:
            self.begin(messages)
        return self.view(messages)

    def begin(self, messages):
        stays = pinned(messages)
        end = turns(messages)[-2].start
        old = [message for message in messages[:end] if message not in stays]
        text = "\n".join(message.content for message in old)
        request = [Message("request", "user", f"Say in a few sentences what this says:\n{text}")]
        self.errand = self.model.begin(request, "summary", max_tokens=100)
        self.values = "".join(re.findall(r"[^.]*\b\d{4}\b[^.]*\.", text))
        self.covers = [message.id for message in old]

    def take(self):
        if self.errand.text:
            self.state = {"summary": f"{self.errand.text}\nWord for word:{self.values}", "covers": self.covers}
        self.errand = None

    def view(self, messages):
        covers = self.state.get("covers", [])
        if not covers:
            return messages
        summary = Message("summary", "user", self.state["summary"], why="a summary", covers=tuple(covers))
        place = next(place for place, message in enumerate(messages) if message.id in covers)
        rest = [message for message in messages[place:] if message.id not in covers]
        return [*messages[:place], summary, *rest]
