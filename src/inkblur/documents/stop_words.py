"""English function words, by kind. A public list: part of the program, not of any text."""

from __future__ import annotations

_BY_KIND = {
    "articles and determiners": (
        "a an the this that these those each every either neither some any no all both "
        "half such another other what which whose"
    ),
    "pronouns": (
        "i me my mine myself we us our ours ourselves you your yours yourself yourselves "
        "he him his himself she her hers herself it its itself they them their theirs "
        "themselves one who whom someone somebody something anyone anybody anything "
        "everyone everybody everything nobody nothing none"
    ),
    "auxiliary verbs": (
        "am is are was were be been being do does did doing done have has had having will "
        "would shall should can could may might must ought"
    ),
    "contractions": (
        "i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll "
        "it's it'd it'll we're we've we'd we'll they're they've they'd they'll that's "
        "there's who's what's let's isn't aren't wasn't weren't don't doesn't didn't "
        "haven't hasn't hadn't won't wouldn't shan't shouldn't can't cannot couldn't "
        "mustn't needn't mightn't ain't"
    ),
    "conjunctions": (
        "and but or nor so yet if unless until while whereas because since although "
        "though as than whether once"
    ),
    "prepositions": (
        "about above across after against along among around at before behind below "
        "beneath beside besides between beyond by despite down during except for from in "
        "inside into like near of off on onto out outside over per through throughout to "
        "toward towards under underneath up upon via with within without"
    ),
    "adverbs of grammar": (
        "not never also only just too very quite rather even still already again ever "
        "here there where when why how then thus hence however therefore else more most "
        "less least much many few"
    ),
}

STOP_WORDS: frozenset[str] = frozenset(
    word for words in _BY_KIND.values() for word in words.split()
)
