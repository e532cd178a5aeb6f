"""What each call was sent: compactions, rewinds, cleared results, forks, as each form records them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.logs.samples import (
    ANSWER,
    ASK,
    ATIF,
    CHAT,
    CLAUDE,
    CODEX,
    GEMINI,
    GEMINI_HEADER,
    OPENCODE_TOOL,
    OPENHANDS,
    OPENHANDS_SECOND,
    PI,
    SWE_AGENT,
    THOUGHT,
    TIME,
    claude,
    codex,
    count,
    document,
    exchange,
    gemini,
    lines,
    opencode,
    pi,
    responses,
    said,
    second,
    texts,
    tool_result,
    tool_use,
    usage,
)
from thimble.logs.forms import read_logs
from thimble.logs.log import Log
from thimble.models.chat import read_conversation


def logs_of(folder: Path, content: bytes) -> list[Log]:
    (folder / "s").write_bytes(content)
    return read_logs(folder / "s")


def words(log: Log, places: Sequence[int]) -> list[str]:
    """The first line of each of these entries."""
    messages = read_conversation([log.entries[place] for place in places]).repaired.messages
    return [message.content.strip().split("\n")[0] for message in messages]


def last(log: Log) -> list[str]:
    """What the last call was sent."""
    return words(log, log.prompt(log.calls[-1]))


STEPS = st.sampled_from(["said", "replied", "dropped", "edited", "sent"])


@given(st.lists(st.tuples(STEPS, st.integers(0, 6))))
def test_a_call_was_sent_the_view_of_its_time_and_edits_are_summaries(steps: list[tuple[str, int]]) -> None:
    log, view, sent, written = Log("a", "b"), list[dict[str, Any]](), [], 0
    for number, (step, place) in enumerate(steps):
        entry = {"role": "assistant" if step == "replied" else "user", "content": str(number)}
        if step == "said":
            log.add(entry)
        elif step == "replied":
            sent.append([*view])
            log.append([entry])
        if step in ("said", "replied"):
            view.append(entry)
            continue
        has_edit = step == "edited" and place < len(view)
        view[place : place + 1] = [entry] if has_edit else []
        written += has_edit
        if step == "sent":
            view.append(entry)
            log.set_prompt([{**one} for one in view])
            assert log.view == view
            view = log.view
        else:
            log.view = view
    assert [[log.entries[place] for place in log.prompt(call)] for call in log.calls] == sent
    assert len(log.summaries) == written


SUMMARY = claude("user", "c2", "c1", "Summary so far", isCompactSummary=True, isVisibleInTranscriptOnly=True)
GO_ON = [
    claude("user", "u9", "c2", "Go on"),
    claude("assistant", "a9", "u9", texts("Gone on"), id="m9", usage=usage(2, 30, 8)),
]


def compacted(**metadata: Any) -> list[dict[str, Any]]:
    line = {"type": "system", "subtype": "compact_boundary", "uuid": "c1", "parentUuid": None, "sessionId": "s"}
    return [*CLAUDE, {**line, "compactMetadata": {"trigger": "auto", **metadata}}, SUMMARY, *GO_ON]


def test_claude_code_goes_on_with_the_summary_and_what_it_preserved(tmp_path: Path) -> None:
    (log,) = logs_of(tmp_path, lines(*compacted()))
    assert last(log) == ["Summary so far", "Go on"]
    assert words(log, [*log.summaries]) == ["Summary so far"]
    assert words(log, log.prompt(log.calls[1])) == [ASK, THOUGHT, "42 pages"], "older calls keep their prompts"
    kept = {"preservedMessages": {"uuids": ["a2", "u2", "a3"]}}
    assert last(logs_of(tmp_path, lines(*compacted(**kept)))[0]) == [
        "Summary so far",
        THOUGHT,
        "42 pages",
        ANSWER,
        "Go on",
    ]
    segment = {"preservedSegment": {"headUuid": "u2", "anchorUuid": "c2", "tailUuid": "a3"}}
    (log,) = logs_of(tmp_path, lines(*compacted(**segment)))
    assert [log.entries[place]["role"] for place in log.prompt(log.calls[-1])] == ["user", "tool", "assistant", "user"]


def test_claude_code_clears_results_for_the_calls_after(tmp_path: Path) -> None:
    line = {"type": "system", "subtype": "microcompact_boundary", "uuid": "b1", "parentUuid": "a3", "sessionId": "s"}
    cleared = {**line, "microcompactMetadata": {"compactedToolIds": ["c1", "unknown"]}}
    (log,) = logs_of(tmp_path, lines(*CLAUDE, cleared, *GO_ON))
    assert last(log) == [ASK, THOUGHT, "[Old tool result content cleared]", ANSWER, "Go on"]
    assert words(log, log.prompt(log.calls[1]))[-1] == "42 pages"


def test_claude_code_rewinds_to_a_prompt(tmp_path: Path) -> None:
    again = [
        claude("user", "v1", "a3", "And the annex?"),
        claude("assistant", "v2", "v1", texts("Ten."), id="m3", usage=usage(1, 1, 1)),
        claude("user", "w1", "a3", "And the cover?"),
        claude("assistant", "w2", "w1", texts("One."), id="m4", usage=usage(1, 1, 1)),
    ]
    (log,) = logs_of(tmp_path, lines(*CLAUDE, *again))
    assert last(log)[-2:] == [ANSWER, "And the cover?"]
    assert words(log, log.prompt(log.calls[2]))[-2:] == [ANSWER, "And the annex?"], "what is taken back was sent"
    assert not log.summaries


def test_claude_code_joins_parallel_calls_and_counts_a_message_once(tmp_path: Path) -> None:
    both = [
        claude("assistant", "a1", "u1", tool_use("c1"), id="m1", usage=usage(3, 100, 4)),
        claude("user", "r1", "a1", tool_result("c1", "one")),
        claude("assistant", "a2", "a1", tool_use("c2"), id="m1", usage=usage(3, 100, 40)),
        claude("user", "r2", "a2", tool_result("c2", "two")),
    ]
    meta = claude("user", "x", "r2", "The words of a command", isMeta=True)
    error = claude("assistant", "e", "x", texts("API Error"), isApiErrorMessage=True)
    (log,) = logs_of(tmp_path, lines(CLAUDE[1], *both, both[0], meta, error, CLAUDE[-1]))
    assert [call.reported.output for call in log.calls] == [40, 8]
    assert len(log.entries[log.calls[0].at]["tool_calls"]) == 2
    assert last(log)[-1] == "The words of a command", "hidden on the screen, and sent"
    assert log.left_out["repeated line"] == log.left_out["error shown as a reply"] == 1


def test_claude_code_gives_sub_agents_logs_and_attachments_words(tmp_path: Path) -> None:
    side = [
        claude("user", "s1", None, "Search it", isSidechain=True),
        claude("assistant", "s2", "s1", texts("Found"), id="m7", isSidechain=True),
    ]
    attachment = {"type": "attachment", "uuid": "t1", "parentUuid": "u1", "sessionId": "s"}
    skills = {
        **attachment,
        "attachment": {"type": "invoked_skills", "skills": [{"name": "x", "content": "Use the index"}]},
    }
    mode = {**attachment, "uuid": "t2", "attachment": {"type": "auto_mode"}}
    main, agent = logs_of(tmp_path, lines(CLAUDE[1], skills, mode, *CLAUDE[2:], *side))
    assert words(main, main.prompt(main.calls[0])) == [ASK, "Use the index"]
    assert main.left_out["part auto_mode"] == 1
    assert last(agent) == ["Search it"]
    (alone,) = logs_of(tmp_path, lines(*side, CLAUDE[0]))
    assert last(alone) == ["Search it"], "a file of a sub-agent alone"
    assert alone.left_out["summary"] == 1


def test_codex_replaces_its_list_and_rolls_back_turns(tmp_path: Path) -> None:
    summary = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Summary so far"}]}
    ask = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ASK}]}
    new = codex(
        "compacted", message="", replacement_history=[ask, summary, {"type": "compaction", "encrypted_content": "x"}]
    )
    after = [said("user", "Go on"), said("assistant", "Gone on"), count(300, 60, 0)]
    (log,) = logs_of(tmp_path, lines(*CODEX, new, *after))
    assert last(log) == ["Be brief.", ASK, "Summary so far", "Go on"]
    assert words(log, [*log.summaries]) == ["Summary so far"]
    assert log.left_out["item compaction"] == 1
    old = codex("compacted", message="Summary so far")
    (log,) = logs_of(tmp_path, lines(*CODEX, old, *after))
    assert last(log)[-3:] == [ASK, "Summary so far", "Go on"], "an old one keeps what the user said"
    back = codex("event_msg", type="thread_rolled_back", num_turns=1)
    (log,) = logs_of(tmp_path, lines(*CODEX, *after, back, said("user", "Go up"), said("assistant", "Up")))
    assert last(log)[-2:] == [ANSWER, "Go up"]
    assert "Usage is known for the session only" in log.notes[-1]


def test_codex_does_not_count_what_a_fork_copied(tmp_path: Path) -> None:
    opened = {"timestamp": TIME.format(4), "type": "session_meta"}
    child = {**opened, "payload": {"id": "child", "forked_from_id": "s", "timestamp": TIME.format(4)}}
    own = [
        {**said("user", "Go on"), "timestamp": TIME.format(8)},
        {**said("assistant", "Gone on"), "timestamp": TIME.format(9)},
    ]
    (log,) = logs_of(tmp_path, lines(child, *CODEX, *own, {**count(300, 60, 0), "timestamp": TIME.format(9)}))
    assert log.name == "child"
    assert [call.reported.prompt for call in log.calls] == [60]
    assert last(log)[-2:] == [ANSWER, "Go on"]


def test_a_second_developer_message_of_codex_stays_in_its_place(tmp_path: Path) -> None:
    (log,) = logs_of(tmp_path, lines(*CODEX))
    assert [log.entries[place]["role"] for place in (0, 1)] == ["system", "user"]
    (log,) = logs_of(tmp_path, lines({**CODEX[0], "payload": {"id": "s"}}, *CODEX[1:]))
    assert read_conversation(log.entries).repaired.messages[0].content == "Ask before you write."


def test_pi_keeps_what_a_compaction_names_and_walks_the_newest_path(tmp_path: Path) -> None:
    compaction = {
        "type": "compaction",
        "id": "5",
        "parentId": "4",
        "summary": "Summary so far",
        "firstKeptEntryId": "3",
    }
    other = pi("x", "4", role="user", content="Never mind")
    after = [pi("6", "5", role="user", content="Go on"), pi("7", "6", role="assistant", content="Gone on")]
    main, branch = logs_of(tmp_path, lines(*PI, other, compaction, *after))
    assert [main.entries[place]["role"] for place in main.prompt(main.calls[-1])] == [
        "user",
        "tool",
        "assistant",
        "user",
    ]
    assert branch.entries[-1]["content"] == texts("Never mind")
    bare = [{key: value for key, value in line.items() if key not in ("id", "parentId")} for line in (*PI[1:], *after)]
    first = {**compaction, "firstKeptEntryIndex": 4}
    del first["id"], first["parentId"], first["firstKeptEntryId"]
    (log,) = logs_of(tmp_path, lines(PI[0], *bare[:4], first, *bare[4:]))
    assert last(log) == ["Summary so far", ANSWER, "Go on"], "version 1 counts all lines"


def test_gemini_rewrites_its_list_and_counts_a_record_once(tmp_path: Path) -> None:
    snapshot = gemini("9", "user", "<state_snapshot>Short</state_snapshot>")
    after = [gemini("5", "user", "Go on"), gemini("6", "gemini", "Gone on")]
    (log,) = logs_of(
        tmp_path, lines(GEMINI_HEADER, *GEMINI, GEMINI[3], {"$set": {"messages": [snapshot, GEMINI[3]]}}, *after)
    )
    assert last(log) == ["<state_snapshot>Short</state_snapshot>", ANSWER, "Go on"]
    assert len(log.calls) == 3
    assert len(log.summaries) == 1
    (log,) = logs_of(tmp_path, lines(GEMINI_HEADER, *GEMINI, {"$rewindTo": "4"}, *after))
    assert last(log)[-2:] == ["42 pages", "Go on"]
    (log,) = logs_of(tmp_path, lines(GEMINI_HEADER, *GEMINI, {"$rewindTo": "gone"}, *after))
    assert last(log) == ["Go on"], "an unknown id takes all back"


def test_openhands_forgets_events_and_puts_the_summary_at_its_offset(tmp_path: Path) -> None:
    forget = {"forgotten_events_start_id": 1, "forgotten_events_end_id": 5, "summary": "Short", "summary_offset": 1}
    condensed = {"id": 8, "source": "agent", "action": "condensation", "args": forget}
    more = {"id": 9, "source": "user", "action": "message", "args": {"content": "Go on"}}
    end = {
        **OPENHANDS[-1],
        "id": 10,
        "tool_call_metadata": {"model_response": {"id": "r9", "choices": [{"message": CHAT[3]}]}},
    }
    (log,) = logs_of(tmp_path, document([*OPENHANDS, condensed, more, end]))
    assert last(log) == [ASK, "Short", ANSWER, "Go on"]
    again = {**condensed, "id": 11, "args": {"forgotten_event_ids": [7], "summary": "Shorter", "summary_offset": 1}}
    (log,) = logs_of(tmp_path, document([*OPENHANDS, condensed, more, again, end]))
    assert last(log) == [ASK, "Shorter", "Go on"]
    gone = second("5", "Condensation", forgotten_event_ids=["2", "3"], summary="Short", summary_offset=1)
    more_second = second("6", "MessageEvent", llm_message={"role": "user", "content": texts("Go on")})
    end_second = second(
        "7", "MessageEvent", llm_message={"role": "assistant", "content": texts("On")}, llm_response_id="r3"
    )
    (log,) = logs_of(tmp_path, lines(*OPENHANDS_SECOND, gone, more_second, end_second))
    assert last(log) == [ASK, "Short", ANSWER, "Go on"]


def test_openhands_takes_the_difference_of_its_running_sums(tmp_path: Path) -> None:
    def stats(prompt: int, read: int, output: int) -> dict[str, Any]:
        tokens = {"prompt_tokens": prompt, "cache_read_tokens": read, "completion_tokens": output}
        value = {"usage_to_metrics": {"agent": {"accumulated_token_usage": tokens}}}
        return second(f"s{prompt}", "ConversationStateUpdateEvent", key="stats", value=value)

    values = [OPENHANDS_SECOND[0], stats(100, 0, 5), *OPENHANDS_SECOND[1:], stats(250, 90, 12), stats(250, 90, 12)]
    (log,) = logs_of(tmp_path, lines(*values))
    assert [(call.reported.uncached, call.reported.cache_read, call.reported.output) for call in log.calls] == [
        (100, 0, 5),
        (60, 90, 7),
    ]


def test_atif_copies_are_context_and_a_compaction_begins_anew(tmp_path: Path) -> None:
    summary = {
        "step_id": 4,
        "source": "system",
        "message": "Short",
        "extra": {"context_management": {"type": "compaction"}},
    }
    steps = [
        {"step_id": 0, "source": "system", "message": "Be brief."},
        {**ATIF["steps"][0]},  # type: ignore[dict-item]
        {**ATIF["steps"][1], "is_copied_context": True, "metrics": None},  # type: ignore[dict-item]
        summary,
        {"step_id": 5, "source": "user", "message": "Go on"},
        {"step_id": 6, "source": "agent", "message": "Gone on", "llm_call_count": 3, "metrics": {"prompt_tokens": 9}},
    ]
    (log,) = logs_of(tmp_path, document({**ATIF, "steps": steps}))
    assert last(log) == ["Be brief.", "Short", "Go on"]
    assert [call.reported.prompt for call in log.calls] == [None], "a sum of three calls is the usage of none"


def test_opencode_prunes_results_and_compacts_to_a_tail(tmp_path: Path) -> None:
    pruned = {**OPENCODE_TOOL, "state": {**OPENCODE_TOOL["state"], "time": {"compacted": 2500}}}  # type: ignore[dict-item]
    begun = [*opencode("m1", "user", 1000, *texts(ASK)), *opencode("m2", "assistant", 2000, *texts(THOUGHT), pruned)]
    (log,) = logs_of(tmp_path, lines(*begun, *opencode("m3", "assistant", 3000, *texts(ANSWER))))
    assert last(log) == [ASK, THOUGHT, "[Old tool result content cleared]"]
    compaction = opencode("m4", "user", 4000, {"type": "compaction", "auto": True, "tail_start_id": "m3"})
    summary = opencode("m5", "assistant", 5000, *texts("Short"), summary=True)
    end = [*opencode("m6", "user", 6000, *texts("Go on")), *opencode("m7", "assistant", 7000, *texts("On"))]
    third = opencode("m3", "assistant", 3000, *texts(ANSWER))
    main, other = logs_of(
        tmp_path,
        b"\n".join(
            map(
                document,
                [
                    *begun,
                    *third,
                    *compaction,
                    *summary,
                    *end,
                    {**begun[0], "sessionID": "two", "id": "m9"},
                    {"id": "p", "messageID": "m9", **texts(ASK)[0]},
                ],
            )
        ),
    )
    assert last(main) == ["Short", ANSWER, "Go on"]
    assert len(other.entries) == 1


def test_requests_that_have_nothing_in_common_are_conversations_of_their_own(tmp_path: Path) -> None:
    shorter = [{"role": "user", "content": "Summary so far"}, CHAT[3], {"role": "user", "content": "Go on"}, CHAT[3]]
    title = [{"role": "user", "content": "Give this a title"}, {"role": "assistant", "content": "Pages"}]
    main, side = logs_of(tmp_path, lines(exchange(1), exchange(1, title), exchange(3), exchange(3, shorter)))
    assert (len(main.calls), len(side.calls)) == (3, 1)
    assert last(main) == ["Summary so far", ANSWER, "Go on"]
    assert len(main.contexts) == 2
    (log,) = logs_of(
        tmp_path, lines(responses("r0", [], [{"type": "message", "role": "assistant", "content": "On"}], "r1"))
    )
    assert "not in the file" in log.notes[0]
    asked = [*({"role": "developer", "content": words} for words in ("Be brief.", "Be kind.")), CHAT[0]]
    said_on = [{"type": "message", "role": "assistant", "content": "On"}]
    (log,) = logs_of(tmp_path, lines(responses(None, asked, said_on, "r1")))
    told = [message.role for message in read_conversation(log.entries).repaired.messages]
    assert told == ["system", "user", "user", "assistant"]


def test_swe_agent_takes_what_its_steps_were_sent_and_leaves_other_agents_out(tmp_path: Path) -> None:
    history = [{"role": "user", "content": "An example", "is_demo": True}, {**CHAT[3], "is_demo": True}]
    run = {
        **SWE_AGENT,
        "history": [*history, {"role": "user", "content": "x", "agent": "critic"}, *SWE_AGENT["history"]],
    }  # type: ignore[misc]
    (log,) = logs_of(tmp_path, document(run))
    assert len(log.calls) == 2
    assert log.left_out["message of another agent"] == 1
    assert "which results were elided" in log.notes[0]
    elided = [*history, *CHAT[:2], {"role": "tool", "content": "(2 lines omitted)", "tool_call_ids": ["c1"]}]
    queries = [{"query": [*history, CHAT[0]]}, {"query": elided}]
    (log,) = logs_of(tmp_path, document({**run, "trajectory": queries}))
    assert last(log)[2:] == [ASK, THOUGHT, "(2 lines omitted)"]
    (log,) = logs_of(tmp_path, document({**run, "trajectory": [{"messages": elided}, {"messages": []}]}))
    assert last(log)[2:] == [ASK, THOUGHT, "(2 lines omitted)"]
