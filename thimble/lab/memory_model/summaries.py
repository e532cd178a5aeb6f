"""Summaries: ask a model for one, choose those to learn, and derive a guideline from failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from thimble.agent.messages import Message
from thimble.agent.protocols import Backend
from thimble.agent.reply import Reply
from thimble.lab.memory_model.frozen_agent import FrozenAgent
from thimble.lab.memory_model.memory_steps import MemoryStep, MemoryTask

LESSONS, LESSON_TOKENS, TRIED = 3, 60, 6
"""The number of guidelines to write, the tokens of each, and the steps on which each is tried."""
LESSON = """\
A summary took the place of a conversation. With it, an assistant did the wrong thing.
Summary:
{summary}
Right: {right}
Wrong: {wrong}
Say in one sentence of at most 25 words what a summary must keep, so that this does not happen again."""


@dataclass(frozen=True, slots=True)
class MemoryModel:
    """A model that is asked for summaries as in a session; `guideline`: an instruction what to keep, as in /compact."""

    backend: Backend
    guideline: str = ""

    def summary(self, step: MemoryStep, task: MemoryTask) -> str:
        """Ask for the summary of a step. Raises ModelError."""
        return complete(self.backend, task.prompt(step, self.guideline), task.most_tokens)


def complete(backend: Backend, prompt: Sequence[Message], most: int) -> str:
    """A reply of at most `most` tokens, at temperature 0; "" if it repeats itself. Raises ModelError."""
    reply = Reply.of(backend.stream(prompt, (), max_tokens=most, temperature=0.0, expects="text"))
    return "" if reply.stopped_by else reply.text.strip()


def own_words(step: MemoryStep, task: MemoryTask) -> str:
    """The agent's answers that are no longer in view, the newest first, up to the size of a summary."""
    shown, room, texts = {message.id for message in task.newest_turns(step)}, task.most_tokens, list[str]()
    for message in reversed(step.history):
        if message.role == "assistant" and not message.calls and message.id not in shown:
            room -= task.counter.count(message)
            texts += [message.content] if room >= 0 else []
    return "\n".join(dict.fromkeys(texts))


def target_summary(step: MemoryStep, agent: FrozenAgent, teacher: MemoryModel) -> str:
    """The summary to learn: the teacher's or the agent's own words, whichever has the higher reward.

    Of two equal ones, the shorter; "" if the agent acts better without a summary.
    """
    texts = sorted([own_words(step, agent.task), teacher.summary(step, agent.task)], key=len)
    best = max(texts, key=lambda text: agent.reward(step, text))
    return best if agent.reward(step, best) >= agent.without(step) else ""


def guideline(model: Backend, agent: FrozenAgent, steps: Sequence[MemoryStep]) -> str:
    """An instruction what a summary must keep, written by the model itself after failures; "" if none of them helps.

    As in ACON (Kang et al., 2025, arXiv 2510.00615): a lesson from each step at which the agent acts differently with
    the summary than with everything in view; the lesson with the highest reward is kept. In ACON, a large model writes
    the lessons.
    """
    lessons = [""]
    for step in steps:
        if len(lessons) > LESSONS:
            break
        summary = MemoryModel(model).summary(step, agent.task)
        view = agent.task.view(step, summary)
        if view and agent.alike(step, view) < 1:
            asked = LESSON.format(summary=summary, right=step.taken, wrong=agent.action(step, view))
            lessons.append(" ".join(complete(model, [Message("lesson", "user", asked)], LESSON_TOKENS).split()))
    worth = {
        words: mean(agent.reward(step, MemoryModel(model, words).summary(step, agent.task)) for step in steps[:TRIED])
        for words in dict.fromkeys(lessons)
    }
    return max(worth, key=lambda words: worth[words])
