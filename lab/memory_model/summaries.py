"""Summaries to compare and to learn from: those of a model, those of a teacher, and a guideline made of failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from time import perf_counter

from thimble.agent.messages import Message
from thimble.agent.protocols import Backend
from thimble.agent.reply import Reply
from thimble.lab.memory_model.frozen_agent import FrozenAgent
from thimble.lab.memory_model.memory_steps import MemoryStep

CANDIDATES, TRIED = 4, 12
"""Guidelines that are written, and steps on which each is tried."""
LESSON = """\
A summary took the place of a conversation. With it, an assistant did the wrong thing.
Summary:
{summary}
Right: {right}
Wrong: {wrong}
Say in one sentence of at most 25 words what a summary must keep, so that this does not happen again."""


@dataclass(frozen=True, slots=True)
class MemoryModel:
    """A model that is asked for summaries as a session asks it, with what a summary must keep beside the sections."""

    backend: Backend
    guideline: str = ""

    def summary(self, step: MemoryStep, agent: FrozenAgent) -> tuple[str, float]:
        """The summary, "" where the model went round in circles, and the seconds that it took. Raises ModelError."""
        return said(self.backend, agent.task.prompt(step, self.guideline), agent.task.most_tokens)


def said(backend: Backend, prompt: Sequence[Message], most: int) -> tuple[str, float]:
    """A reply at temperature 0, and its seconds."""
    began, reply = perf_counter(), Reply()
    for _ in reply.read(backend.stream(prompt, (), max_tokens=most, temperature=0.0, may_call=False)):
        pass
    return "" if reply.stopped_by else reply.text.strip(), perf_counter() - began


def own_words(step: MemoryStep, agent: FrozenAgent) -> str:
    """The agent's answers that are no longer in view, the newest first, as many as a summary has room for."""
    shown = {message.id for message in agent.task.newest_turns(step)}
    texts, room = list[str](), agent.task.most_tokens
    for message in reversed(step.history):
        if message.role == "assistant" and not message.calls and message.id not in shown:
            room -= agent.task.counter.count(message)
            if room < 0:
                break
            texts.append(message.content)
    return "\n".join(dict.fromkeys(texts))


def target(step: MemoryStep, agent: FrozenAgent, teacher: Backend) -> str:
    """The summary to learn: the teacher's, or the agent's own words, whichever lets the agent act better.

    The shorter one of two that are equal; "" where the agent acts better without any.
    """
    texts = {own_words(step, agent), MemoryModel(teacher).summary(step, agent)[0]} - {""}
    earned = {text: agent.reward(step, text) for text in texts}
    best = max(earned, key=lambda text: (earned[text], -len(text), text), default="")
    return best if best and earned[best] >= agent.without(step) else ""


def guideline(model: Backend, agent: FrozenAgent, steps: Sequence[MemoryStep]) -> str:
    """What a summary must keep, in words of the model itself, after failures; "" if no words are better than none.

    As in ACON (Kang et al., 2025, arXiv 2510.00615): steps at which the agent acts as recorded with everything in view
    and not with the summary; a lesson from each; the one with the greatest reward is kept. There a large model writes.
    """
    plain = MemoryModel(model)
    lessons = [""]
    for step in steps:
        summary, _ = plain.summary(step, agent)
        if len(lessons) <= CANDIDATES and agent.reward(step, summary) < 1:
            wrong = agent.action(step, agent.task.view(step, summary).view)
            text = LESSON.format(summary=summary, right=step.taken, wrong=wrong)
            lessons.append(" ".join(said(model, [Message("lesson", "user", text)], 60)[0].split()))
    tried = steps[:TRIED]
    worth = {
        lesson: mean(agent.reward(step, MemoryModel(model, lesson).summary(step, agent)[0]) for step in tried)
        for lesson in dict.fromkeys(lessons)
    }
    return max(worth, key=lambda lesson: worth[lesson])
