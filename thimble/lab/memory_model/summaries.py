"""Summaries: ask a model for one, and choose those to learn."""

from __future__ import annotations

from thimble.agent.protocols import Backend
from thimble.agent.reply import Reply
from thimble.lab.memory_model.frozen_agent import FrozenAgent
from thimble.lab.memory_model.memory_steps import MemoryStep, MemoryTask


def ask_summary(model: Backend, step: MemoryStep, task: MemoryTask) -> str:
    """Ask a model for the summary of a step, as in a session; "" if it repeats itself. Raises ModelError."""
    reply = Reply.of(model.stream(task.prompt(step), (), max_tokens=task.most_tokens, temperature=0.0, expects="text"))
    return "" if reply.stopped_by else reply.text.strip()


def own_words(step: MemoryStep, task: MemoryTask) -> str:
    """The agent's answers that are no longer in view, the newest first, up to the size of a summary."""
    shown, room, texts = {message.id for message in task.newest_turns(step)}, task.most_tokens, list[str]()
    for message in reversed(step.history):
        if message.role == "assistant" and not message.calls and message.id not in shown:
            room -= task.counter.count(message)
            texts += [message.content] if room >= 0 else []
    return "\n".join(dict.fromkeys(texts))


def target_summary(step: MemoryStep, agent: FrozenAgent, teacher: Backend) -> str:
    """The summary to learn: the teacher's or the agent's own words, whichever has the higher reward.

    Of two equal ones, the shorter; "" if the agent acts better without a summary.
    """
    texts = sorted([own_words(step, agent.task), ask_summary(teacher, step, agent.task)], key=len)
    best = max(texts, key=lambda text: agent.reward(step, text))
    return best if agent.reward(step, best) >= agent.without(step) else ""
