"""What patterns stand for: in folders, in GitHub's trees, in the listing of a Hub data set."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from web import Server, failing, hub

from suite_builder.errors import SuiteError
from suite_builder.listing import files_below, fixed_folder, matcher, published_files
from suite_builder.sources import Origin, SourceFile

REVISION = "0123" * 10
GITHUB = Origin("github", "owner/name", REVISION)
HUB = Origin("hub", "owner/name", REVISION)


def pattern(text: str, origin: Origin) -> SourceFile:
    return SourceFile(7, text, origin, pattern=True)


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("data/*.csv", ["data/a.csv", "data/.csv"], ["data/a/b.csv", "a.csv", "data/a.csv.part", "old/data/a.csv"]),
        ("*/*.parquet", ["a/b.parquet"], ["b.parquet", "a/b/c.parquet"]),
        ("lv/**/*.jsonl", ["lv/a.jsonl", "lv/x/y/a.jsonl"], ["lv/a.json", "a.jsonl"]),
        ("lv/**", ["lv/a", "lv/x/y"], ["lv", "x/lv/a"]),
        ("20??-llm.json", ["2026-llm.json"], ["206-llm.json", "20/6-llm.json"]),
        ("a+b(1).[x]/*", ["a+b(1).[x]/c"], ["aab(1).x/c"]),
    ],
)
def test_stars_stay_in_one_component_and_double_ones_span_many(text, yes, no):
    assert all(map(matcher(text), yes))
    assert not any(map(matcher(text), no))


@given(st.text())
def test_a_pattern_without_wildcards_matches_itself_alone(text):
    if not set(text) & set("*?"):
        assert matcher(text)(text)
        assert not matcher(text)(text + "x")


def test_the_fixed_folder_ends_before_the_first_wildcard():
    found = [fixed_folder(text) for text in ("a/b/*.py", "a/*/c.py", "*/*.parquet", "*.json", "a/**", "a/b.py")]
    assert found == ["a/b", "a", "", "", "a", "a"]


def test_files_below_a_folder_are_found_by_their_path_in_it(tmp_path):
    for path in ("data/b.csv", "data/a.csv", "data/more/c.csv", "a.csv"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    assert files_below(tmp_path, "data/*.csv") == ["data/a.csv", "data/b.csv"]
    assert files_below(tmp_path, "**/*.csv") == ["a.csv", "data/a.csv", "data/b.csv", "data/more/c.csv"]
    assert files_below(tmp_path / "none", "*.csv") == []


# GitHub


def blob(path: str, size: int = 5, mode: str = "100644") -> dict:
    return {"path": path, "type": "blob", "mode": mode, "size": size, "sha": "ff"}


def folder(path: str, sha: str) -> dict:
    return {"path": path, "type": "tree", "mode": "040000", "sha": sha}


@pytest.fixture
def github():
    """A repository by its tree ids; `asked` are the addresses of the listings that were fetched."""
    trees = {
        REVISION: [blob("README"), folder("data", "d1"), folder("other", "o1")],
        "d1": [folder("sets", "s1"), blob("sets.json")],
        "s1?recursive=1": [
            *(blob("b.json", 7), blob("a.json", 6), blob("deep/c.json")),
            *(blob("link.json", mode="120000"), folder("x.json", "x1")),
        ],
        f"{REVISION}?recursive=1": [blob("README"), blob("data/sets/a.json", 6)],
    }
    asked = []

    def fetch_json(listing: SourceFile) -> dict:
        asked.append(listing.url)
        return {"tree": trees[listing.public_path]}

    return SimpleNamespace(trees=trees, asked=asked, fetch_json=fetch_json)


def test_a_folder_on_github_is_listed_by_one_request_per_step(github):
    found = published_files(pattern("data/sets/*.json", GITHUB), github.fetch_json)
    assert found == [("data/sets/a.json", 6, None), ("data/sets/b.json", 7, None)]
    trees = "https://api.github.com/repos/owner/name/git/trees"
    assert github.asked == [f"{trees}/{REVISION}", f"{trees}/d1", f"{trees}/s1?recursive=1"]


def test_links_on_github_are_left_out(github):
    found = published_files(pattern("data/sets/**/*.json", GITHUB), github.fetch_json)
    assert [path for path, _size, _sha256 in found] == ["data/sets/a.json", "data/sets/b.json", "data/sets/deep/c.json"]


def test_a_pattern_over_a_whole_repository_needs_one_request(github):
    assert published_files(pattern("**/*.json", GITHUB), github.fetch_json) == [("data/sets/a.json", 6, None)]
    assert len(github.asked) == 1


@pytest.mark.parametrize("text", ["data/none/*.json", "data/sets/*.csv"])
def test_a_pattern_that_nothing_matches_is_an_error(github, text):
    with pytest.raises(SuiteError, match=f"https://github.com/owner/name has no file data/.* at revision {REVISION}"):
        published_files(pattern(text, GITHUB), github.fetch_json)


def test_a_listing_that_is_not_whole_is_not_used(github):
    with pytest.raises(SuiteError, match="https://github.com/owner/name has too many files to be listed below ''"):
        published_files(pattern("**/*.json", GITHUB), lambda _listing: {"tree": [], "truncated": True})


def test_a_listed_path_that_leads_out_of_the_folder_is_refused(github):
    github.trees["s1?recursive=1"] = [blob("../../evil.json")]
    with pytest.raises(SuiteError, match=r"https://github.com/owner/name lists 'data/sets/../../evil.json', a path"):
        published_files(pattern("data/sets/**/*.json", GITHUB), github.fetch_json)


# The Hub


def test_a_hub_data_set_is_listed_with_sizes_and_the_checksums_of_large_files(monkeypatch):
    files = {"data/a.parquet": b"aaa", "data/b.parquet": b"bbbb", "readme.md": b"r"}
    with Server(hub("owner/name", REVISION, files, {"data/b.parquet": "b" * 64})) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        found = published_files(pattern("data/*.parquet", HUB), None)
    assert found == [("data/a.parquet", 3, None), ("data/b.parquet", 4, "b" * 64)]
    assert any(path.startswith(f"GET /api/datasets/owner/name/tree/{REVISION}/data?") for path in server.paths)


def test_a_gated_data_set_that_cannot_be_listed_says_what_to_do(monkeypatch):
    with Server(failing(401, X_Error_Code="GatedRepo")) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        with pytest.raises(SuiteError, match="is gated: 1. accept the terms at .*/datasets/owner/name 2. run `hf auth"):
            published_files(pattern("data/*.parquet", HUB), None)
