"""HoVer: whether Wikipedia introductions support a claim that takes two to four of them to check."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from unicodedata import normalize

from suite_builder.recipes.common import added_row, choice
from suite_builder.recipes.records import naming, places

CATALOG_ID = 61

CLAIMS = "data/hover/hover_dev_release_v1.1.json"
DOCUMENTS = "wiki_wo_links.db"
QUESTION = choice(
    "Is the claim supported by the evidence?",
    {
        "SUPPORTED": "The evidence supports the claim.",
        "NOT_SUPPORTED": "The evidence does not support the claim.",
    },
)
FIND = "SELECT id, text FROM documents WHERE id IN (SELECT value FROM json_each(?))"


def rows(files: Mapping[str, Path]) -> Iterator[dict]:
    """One row per claim, with the introduction of every page that its supporting facts name.

    Raises:
        ValueError: a malformed claim, or a page that is not in the database exactly once; names file and record.
    """
    with naming(CLAIMS):
        claims = json.loads(files[CLAIMS].read_bytes())
    titles_of = []
    for place, claim in places(CLAIMS, claims):
        with naming(place):
            titles_of.append(list(dict.fromkeys(title for title, _sentence in claim["supporting_facts"])))
    introductions = _introductions(files[DOCUMENTS], {title for titles in titles_of for title in titles})
    for (place, claim), titles in zip(places(CLAIMS, claims), titles_of, strict=True):
        with naming(place):
            if claim["label"] not in QUESTION["criteria"]:
                raise ValueError(f"label {claim['label']!r}")
            evidence = [{"title": title, "text": introductions[title]} for title in titles]
            row = added_row(
                CATALOG_ID, claim["uid"], f"{claim['num_hops']}-hop",
                {"claim": claim["claim"], "evidence": evidence}, QUESTION, claim["label"],
                num_hops=claim["num_hops"], supporting_facts=claim["supporting_facts"], hpqa_id=claim["hpqa_id"],
            )
        yield row


def _introductions(database: Path, titles: set[str]) -> dict[str, str]:
    """Title -> introduction; the database spells titles in NFD.

    Raises:
        ValueError: no such database, or a page that it does not hold exactly once.
    """
    of_id: dict[str, str] = {}
    try:
        with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as documents:
            for page, text in documents.execute(FIND, (json.dumps([normalize("NFD", title) for title in titles]),)):
                if page in of_id:
                    raise ValueError(f"{DOCUMENTS}: a second page {page!r}")
                of_id[page] = text
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{DOCUMENTS}: {error}") from None
    if missing := sorted(title for title in titles if normalize("NFD", title) not in of_id):
        raise ValueError(f"{DOCUMENTS}: {len(missing):,} pages are missing, the first is {missing[0]!r}")
    return {title: of_id[normalize("NFD", title)] for title in titles}
