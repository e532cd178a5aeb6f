"""Wording: how English asks for things. Tables of patterns, each the first match wins."""

from __future__ import annotations

import re
from collections.abc import Mapping

from models.reader.language import words_of


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE | re.DOTALL)


ARTICLES = r"(?:articles?|documents?|texts?|pages?|library|corpus)"
LISTED = r"(?:articles?|documents|texts|pages)"
POLITE = r"^\W*(?:(?:and|now|then|next|first|please|ok|okay|also|so|you|let's|can you|could you|would you)\W+)*"
THANKS = _any(r"^\W*(?:thanks?|thank you|bye|goodbye|great|nice|cool|ok(?:ay)?)\b")

_REQUEST = (
    r"(?:\b(?:please|want (?:to|you)|would like|['’]d like|wonder(?:ing)?|need to know|question is|let['’]?s|looking)\b"
    r"|(?:[,;:.!]\s*|\b(?:and|then|now|so|you)\s+)"
    r"(?:tell|show|note|remember|save|write|read|find|list|give|explain|search|open|compare|summari[sz]e|look)\b)"
)
STATEMENT = _any(
    r"^\W*(?:(?:so|ok(?:ay)?|hello|hi|first|by the way|for context|background|for the record|just so you know|today|"
    r"right now|currently)\W+){0,2}(?:(?:in|on|at|for|with|since|as)\W+(?:[\w-]+\W+){0,5}?)?"
    rf"(?:we|our|i|my)\b(?!.*{_REQUEST})[^?]*$"
)
"""What the user says of themselves and does not ask."""
OURS = _any(r"\b(?:we|our|ours|i|my|mine|us|me)\b")
"""A question with this may be about what the user said of themselves."""
SAID_BEFORE = _any(
    r"\b(?:did|have|had) (?:i|we) (?:\w+ )?(?:say|said|tell|told|mention(?:ed)?|stated?|named?|call(?:ed)?|described?|"
    r"give|given|gave)\b",
    r"\b(?:i|we) (?:just |have |had |already |first )?(?:said|told you|mentioned|stated|named|described|gave you)\b",
    r"\bremind me\b(?=.*\b(?:my|our|we|i)\b)|\bwhat (?:is|was|are|were) (?:my|our)\b",
)
"""A question with this is about what the user said."""

KINDS: Mapping[str, re.Pattern[str]] = {
    "told": STATEMENT,
    "chat": _any(
        r"^\W*(?:hi|hello|hey|good (?:morning|day|evening)|thanks?|thank you|bye|goodbye|ok(?:ay)?|great|nice|cool)"
        r"(?:\W+(?:there|you|a lot|so much|very much|again|all|everyone|and|bye|thanks|for (?:that|your help)))*\W*$",
        r"\b(?:who|what) are you\b|\bhow are you\b|\bwhat can you do\b|^\W*help\W*$",
        # a sum
        r"^\W*(?:what(?:['’]s| is)|how much is|calculate|compute)?\W*\d[\d\s.,()]*[-+*/x×÷^][\d\s.,()*/x×÷^+-]*\W*$",
    ),
    "notes": _any(
        r"\b(?:my|your|our|saved) notes\b|\bnotes? (?:do|did|have) (?:you|i|we)\b",
        r"\b(?:show|list|read|what are|what is in)(?: me)? (?:the|all|any) notes\b",
        r"\b(?:did|have) (?:you|i|we) (?:noted?|saved?|remember(?:ed)?)\b",
    ),
    "note": _any(
        r"\bnote (?:that|down|this|it)\b|^\W*(?:please )?(?:note|remember|memori[sz]e|jot|write down)\b",
        r"\b(?:and|then|please) (?:note|remember|save|write down|jot)\b|\bsave (?:this|that|it)\b",
        rf"(?:{POLITE}|\b(?:and|then|please)\s+)(?:save|keep|make|take|write|add)\b[^.?!]*\bnotes?\b",
    ),
    "compare": _any(
        rf"{POLITE}(?:compar(?:e|ing)|contrast)\b|\bcomparison (?:of|between)\b|\bversus\b|\bvs\b|\bcontrasts?\b",
        r"\bdifferences? (?:between|from)\b|\bwhat (?:is|are|was|were) the (?:\w+ )?differences?\b|\bdiffers? from\b",
        r"\bhow (?:do|does|did)\b.*\bdiffer\b|\bhow (?:do|does|did|is|are|would)\b.*\bcompared?\b(?! (?:to|with)\b)",
        r"\b(?:and|then) compare\b|\bhow (?:do|does|did|would)\b.*\bcompare (?:to|with)\b",
        r"\bin common\b|\bsimilarit(?:y|ies)\b|\bhow (?:\w+ )?different (?:is|are|was|were)\b",
        r"\b(?:are|is) .+ different from\b",
    ),
    "count": _any(
        rf"\bhow many {ARTICLES}(?: in (?:all|total))?(?: (?:do|are|have|is|can) (?:you|there|we|i|here)\b|"
        r" (?:about|on|deal|cover|mention|talk)\b|\W*$)"
    ),
    "mention": _any(
        rf"\b(?:which|what) (?:of (?:the|your|these) )?{LISTED}\b.*"
        r"\b(?:mention|discuss|cover|talk|speak|deal|describe|explain|say|contain|refer|address|treat|write|cite)s?\b"
    ),
    "files": _any(
        r"\b(?:what|which|list|show)\b[^?]*\bfiles\b(?!.*\b(?:say|mention|contain)s?\b)",
        r"\blist\b[^?]*\bfolders?\b",
    ),
    "more": _any(
        r"^\W*(?:please )?(?:tell me more|more|go on|continue|keep (?:going|reading)|read on|the rest|next page)\b",
        r"\b(?:read|show)(?: me)? (?:the rest|on|more|the next page)\b",
    ),
    "list": _any(
        rf"\b(?:what|which|list|show|any|other|all)\b(?: [\w-]+){{0,3}} {LISTED}\b"
        r"(?=[^?]*\b(?:about|on|have|there|is|are|cover|list)\b|\W*$)"
        r"(?!.*\b(?:says?|states?|claims?|reports?|gives?|according)\b)",
        rf"^\W*list\b|\bdo you have\b.*\b{ARTICLES}\b",
    ),
    "summarise": _any(
        rf"{POLITE}summari[sz]e\b|^\W*(?:an? |the )?(?:\w+ )?(?:summary|overview|gist|digest|tl;?dr)\b",
        r"\b(?:give|write|make|show|tell)(?: me| us)? (?:an? |the )?(?:\w+ )?"
        r"(?:summary|overview|gist|digest|key points|main (?:points|ideas?))\b",
        r"\bwhat are the (?:key|main) (?:points|ideas?)\b",
        r"\bwhat (?:is|was|does) (?:it|this|that|the \w+ (?:one|article)|the (?:other )?article)\b[^?]*"
        r"\b(?:about|say|cover|discuss)\W*$",
        r"\bwhat did (?:you|it) (?:learn|find|say)\W*$",
    ),
    "read": _any(rf"{POLITE}(?:read|open|fetch|load|study|show me|look at|go through|get)\b"),
}
"""What is asked for; a question that matches none asks for a fact."""

ASIDE: Mapping[str, frozenset[str]] = {
    kind: words_of(words)
    for kind, words in {
        "read": "read open fetch load study show look go get now section first next full through",
        "list": "list show available know",
        "count": "many available",
        "mention": "mention mentions discuss discusses cover covers talk speak deal contain contains",
        "summarise": "summarise summarize summary overview gist digest key main points point short brief briefly idea "
        "ideas sentences cover discuss",
        "note": "note notes save remember down write jot keep memorise main key points",
        "notes": "notes note noted saved save remember remembered show list",
        "more": "more continue rest page show go keep going reading next",
        "compare": "compare comparison difference differences contrast learned learnt read found approach approaches",
    }.items()
}
"""Words that a request of a kind is put with; they are not what it is about."""

READ_FIRST = re.compile(
    r"^\W*(?:(?:now|then|next|first|please)\W+)*(?:read|open|look at|go through)\s+(?P<what>.+?)"
    r"(?:,\s*(?:and\s+)?(?:then\s+)?|\s+and\s+(?:then\s+)?|\s+then\s+|[.;]\s+)"
    r"(?P<rest>(?:tell|say|explain|answer|summari[sz]e|list|note|save|remember|give|find|what|how|which|who|when|where|"
    r"why|does|is|are|was)\b.*)$",
    re.IGNORECASE | re.DOTALL,
)
"""A request to read something and then to do or say another thing."""

ABOUT = re.compile(r"^.*?\b(?:the|an?|one) (?:[\w'’-]+ ){0,4}?(?:about|on|to|of) (?=\w)", re.IGNORECASE)
"""The part of a request to read that says what kind of text is meant, as against what it is about."""
OBJECT = re.compile(
    rf"\b(?:the|an?|your|any|some|all|that|this)?\s*(?:other |whole |full |entire )?{ARTICLES}"
    r"(?: (?:do |does |did )?(?:you|we|i) (?:have|know))?(?: (?:is|are) there)?(?: (?:available|there))?\s*"
    r"(?:(?:about|on|called|titled|named|for|of|in|that|which|mention|discuss|cover|concerning|regarding|covering|dealing"
    r" with)\b\s*)*",
    re.IGNORECASE,
)
"""The part of a request that says "the article about"."""

PATH = re.compile(
    r"(?<![\w/.-])(?:[\w-]+/)*[\w.-]*\w\.(?:log|csv|tsv|jsonl?|ya?ml|toml|txt|md|py|ini|cfg|conf|xml|html|sh|env)\b"
)
FILE_WORDS = words_of("file files log logs config configuration csv folder folders")
IN_FILES = _any(
    r"\b(?:in|from|to|by|of|with) (?:the|our|its|this|that|which) (?:[\w-]+ )?"
    r"(?:logs?|config(?:uration)?|settings|csv|files|folder|module|script)\b",
    r"\bchange ?log\b|\bread ?me\b|\b(?:the|our|of) (?:\w+ )?meeting\b|\bminutes of\b|\bserver logs?\b|\blog entry\b",
)
"""A question with this is about the files."""
PERHAPS_IN_FILES = _any(r"\b(?:we|our|us|the team)\b")
"""A question with this may be about the files."""

UNLIKE = re.compile(r"\s+(?:differs?|(?:are|is) different|compares?d?)\s+(?:from|to|with)\s+", re.IGNORECASE)
_LEARNED_ABOUT = r"(?:what (?:you|we|i)(?:['’]ve| have)? \w+(?: \w+)? (?:about|on|in|from) )?"
SIDES = (
    _any(r"\b(?:differences?|compar\w+|contrast|similarit\w+)\b.*?\bbetween\s+(?P<sides>.+)"),
    _any(r"\bhow\s+(?:do|does|did)\s+(?P<sides>.+?)\s+(?:differ|compare)\b(?P<aspect>.*)$"),
    _any(rf"\b(?:compar\w+|contrast)\s+{_LEARNED_ABOUT}(?P<sides>.+)"),
    _any(r"\b(?:how|what|where|why)\s+(?:do|does|did|is|are)\s+(?P<sides>.+?)(?:\s+have in common\b.*)?$"),
    _any(r"(?P<sides>[^.?!,]+?\s+(?:versus|vs\.?)\s+.+)"),
)
"""Where the things stand that are compared, once `UNLIKE` is replaced by "versus"."""
JOINTS = (
    _any(r"\s*(?:,\s*(?:and\s+)?|\band\b|\bversus\b|\bvs\b\.?)\s*"),
    _any(r"\s*\b(?:with|to|from|than|against)\b\s*"),
)
CHOICE = re.compile(
    r"^\W*(?:which|who|what|whose)\b(?P<ask>[^,]*),\s+(?P<one>.+?),?\s+or\s+(?P<other>[^,?]+)(?:,[^?]*)?\?*$",
    re.IGNORECASE | re.DOTALL,
)
"""A question that gives the things to choose from."""
AGAINST = re.compile(
    r"^(?P<one>[^?]*\b(?:how|what|which)\b[^?]+?),? (?:(?:as )?compared (?:with|to)|as against|as opposed to|"
    r"than(?= (?:with|for|under|in|when|by|on)\b)) (?P<other>[^?]+)\?*$",
    re.IGNORECASE | re.DOTALL,
)
"""A question about one thing that asks for the same of another."""
SCOPE = _any(r"\b(?:in terms of|with respect to|with regard to|when it comes to|as regards|regarding|according to)\b")
LEARNED = _any(r"\b(?:you|we)(?:['’]ve| have)? (?:just )?(?:learn|read|found|saw|seen|note)|\bso far\b")
"""A question with this speaks of what was read before."""

_ASKS = r"(?:how|what|which|who|whom|whose|when|where|why)\b"
_BEFORE = "in|by|on|at|for|from|to|with|of|over|under|until|since|after|before|than|about|roughly|around|up to"
_ASKING = rf"(?:(?:{_BEFORE}|at most|at least) ){{0,2}}{_ASKS}"
ASKING = _any(rf"\b{_ASKS}")
NEXT_QUESTION = _any(
    r"(?<=\?)\s+(?=\w)|(?<=[a-z]{3}\.)\s+(?=\w)",
    rf",?\s+and (?={_ASKING})|(?<=\w),\s+(?={_ASKING}[^?]*,? and {_ASKING})",
)
EACH = re.compile(
    r"^(?P<lead>[^:?]*\b(?:how|what|which|who|when|where)\b[^:?]*):\s+(?P<items>[^?]+?)\s*\?*\s*$", re.IGNORECASE
)
"""A question about each of the things that are listed after a colon."""
THESE = _any(r"\b(?:these|those|the following|each of)\b.*")
ELLIPTIC = _any(r"^\W*(?:and|but|so)?\W*(?:(?:what|how) about|in|for|and)\b")

WANTED: Mapping[str, re.Pattern[str]] = {
    "initials": _any(r"\b(?:stands? for|short for|abbreviation|acronym|spelled out)\b"),
    "name": _any(
        r"\b(?:the|by what|under what|which|what) names? (?:of|did|do|does|is|was)\b",
        r"\bwhat\b[^?]*\b(?:called|named)\b",
    ),
    "number": _any(
        r"\bhow (?:many|much|large|big|long|fast|often|far|high|old|small|short|wide|likely|heavy|expensive|deep|low|"
        r"full|severe|accurate|quickly|soon|close|strong)\b",
        r"\b(?:what|which)\b (?:\S+ ){0,3}?(?:part of|percentage|percent|share|number|fraction|proportion|ratio|factor|"
        r"score|size|price|rate|limit|port|version|accuracy|amount|temperature|throughput|severity|rating|speed-?up|"
        r"count|total|length|multiplier|width|height|speed|sum)\b|\bwhat\b[^?]* costs?\b",
    ),
    "year": _any(
        r"\b(?:which|what) (?:year|month|date|day)\b|\bwhen (?:\w+ly )?(?:was|were|did|is|does|do)\b|^\W*when\W*$",
        r"\b(?:since|by|until) when\b|\bhow long ago\b",
    ),
    "who": _any(r"\b(?:who|whom|whose)\b|\bwhich (?:author|person|researcher|compan|team|group|lab|university|organi)"),
    "reason": _any(r"\bwhy\b|\bfor what reason\b|\bwhat (?:is|was) the reason\b"),
    "definition": _any(
        r"^\W*(?:please )?(?:explain|describe)\b|\bdefine\b",
        r"^\W*(?:and |so )?what(?: is|'s| are| does)\b|\bwhat is meant by\b",
    ),
}
"""What an answer must hold. Numbers, dates, names and initials are insisted on, the others hoped for."""
_VERB = (
    r"(?:do|does|did|is|are|was|were|be|been|can|could|will|would|has|have|had|must|may|might|should|who|that|which|to|"
    r"in|on|at|per|of|for|from|with|by|as|when|if|and|or|"
    r"happen(?:s|ed)?|makes?|made|causes?|caused|goes|went|comes?|came)\b"
)
_NOUNS = rf"(?!{_VERB})[\w'’-]+(?: (?!{_VERB})[\w'’-]+){{0,2}}"
NOUN = re.compile(
    rf"\b(?:how many (?:of (?:the|these|those|its|their|all) )?|number of )(?P<nouns>{_NOUNS})", re.IGNORECASE
)
"""What is counted."""
HEAD = re.compile(
    rf"\b(?:which|what|how much|how (?:large|big|high|long|wide|small) an?) (?P<head>{_NOUNS})"
    r"|\bname of (?:the|an?) (?P<named>(?:\w+ )??[\w-]+)(?= (?:that|which|of|for|in|on)\b|\?)",
    re.IGNORECASE,
)
"""What is asked for."""
MEASURED = words_of(
    "number multiplier score price rate limit size length total count amount factor version port temperature value",
    "percentage share proportion fraction accuracy throughput severity rating level speed width height time memory",
    "space room storage money more less longer faster slower higher lower smaller larger bigger cheaper better worse",
)
"""Words for what is measured, which an answer often does without."""
ROLES = words_of(
    "company companies firm vendor lab university organisation organization researcher researchers author authors",
    "person people team group country city town edition version release year date",
)
"""Words for what has a name, which an answer does without as well."""
NO_NAMES = words_of("I AI LLM LLMs GPU GPUs CPU CPUs API APIs RAM JSON HTTP URL KV ML NLP RL")
"""Words in capitals that name nothing in particular."""
GENERIC = words_of("way ways kind kinds type types sort sorts thing things time times name names the a an")
NAME_RUN = re.compile(r"(?<=[\w,] )[A-Z][\w.-]* (?:[A-Z]|\d)[\w.-]*\w")
"""The first two words of a name of several."""
HOW = re.compile(
    r"\bhow (?:large|big|long|fast|often|far|high|old|small|short|wide|likely|heavy|expensive|deep)\b", re.IGNORECASE
)
WRITINGS = words_of(
    "library document documents text texts word words page pages sentence sentences question questions list topic"
)
"""Words that may be meant or may only be what a question is put with."""
ATTRIBUTES = words_of(
    "share part portion fraction proportion percentage percent ratio factor size amount value default kind type",
    "year month date day time",
)
"""Words that ask for a value and often do not stand beside it."""
