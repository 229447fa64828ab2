"""Random news articles: one in five is repeated with a changed sentence, one in twenty in capitals."""

from __future__ import annotations

import random

SUBJECTS = ["The council", "A local school", "The new bridge", "The harbour", "A team of engineers", "The library"]
VERBS = ["has opened", "will close", "was praised by", "is waiting for", "has surprised", "will be paid by"]
OBJECTS = ["the mayor", "its neighbours", "many visitors", "the regional press", "some students", "the ministry"]


def make_articles(count: int = 1000) -> list[dict[str, str]]:
    """Return records of ``doc_id`` and ``body``. Ids of articles start with a, those of their copies with b and c."""
    draw = random.Random(0)

    def sentence() -> str:
        parts = draw.choice(SUBJECTS), draw.choice(VERBS), draw.choice(OBJECTS)
        return f"{' '.join(parts)} on day {draw.randrange(365)}."

    articles = []
    for number in range(count):
        body = " ".join(sentence() for _ in range(12))
        articles.append({"doc_id": f"a{number}", "body": body})
        if number % 5 == 0:
            body = body.replace(body.split(". ")[3], sentence()[:-1])
            articles.append({"doc_id": f"b{number}", "body": body})
        if number % 20 == 0:
            articles.append({"doc_id": f"c{number}", "body": body.upper()})
    return articles
