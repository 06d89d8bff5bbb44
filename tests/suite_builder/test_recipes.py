"""Recipes against the published checksums where the sources are at hand, and against hand-made sources everywhere."""

import csv
import hashlib
import json
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from suite_builder.catalog import benchmarks
from suite_builder.data_files import load_lines
from suite_builder.recipes import banking77, bbh, home_appliance, musr, simplebench
from suite_builder.recipes.common import PLAIN, SORTED, SORTED_RAW, lettered
from suite_builder.sources import sources

# Published or, for the dev rows, computed from a generator whose test rows are the published ones.
DEV_SHA256 = "7e54b3b11c26066b4faca8d43f63ef09ce69dc13131164a375c453fb88972b83"
BANKING_SHA256 = "d12d6e3bc4c3103966ae786dc435913c0c563dfa328f5a3646d0e62cfeeb474d"
MURDERS_SHA256 = "2d21b133c3ab2c0cf8d58cf5c0d8f9b269e1451b4ba6d3a639872e12203fdf63"
SIMPLEBENCH_SHA256 = "4ea0bb96b35f61c97dbf5a7dc059986398441f0cbb17fa709ae2b0e9ba4f76e4"


def lines_sha256(style, rows) -> str:
    return hashlib.sha256("".join(f"{style(row)}\n" for row in rows).encode()).hexdigest()


def real_files(shared: Path, catalog_id: int) -> dict[str, Path]:
    """The source files of a benchmark in whichever release is at hand."""
    folder = shared / "sources" / str(catalog_id)
    releases = [release for source in sources()[catalog_id] for release in source.releases]
    paths = [file.path for release in releases for file in release.files]
    return {path: folder / path for path in paths if (folder / path).is_file()}


def write_json(path: Path, value) -> Path:
    path.write_text(json.dumps(value), "utf-8")
    return path


def test_every_recipe_is_listed_under_its_own_id():
    for catalog_id, benchmark in benchmarks().items():
        assert import_module(f"suite_builder.recipes.{benchmark.recipe}").CATALOG_ID == catalog_id


# 9 Home appliance simulator


def test_generated_test_rows_are_the_published_ones():
    pairs = list(home_appliance.rows({}))
    assert len(pairs) == 160
    assert {track for track, _row in pairs} == {"Home-Appliance"}
    published = benchmarks()[9].normalized[0].sha256
    assert lines_sha256(home_appliance.STYLE, (row for _track, row in pairs)) == published


def test_generated_dev_rows_are_the_known_ones():
    rows = list(home_appliance.generate("dev"))
    assert len(rows) == 80
    assert lines_sha256(home_appliance.STYLE, rows) == DEV_SHA256


def test_the_88_rows_of_edition_0_2_1_have_states_of_no_dev_row_and_no_earlier_test_row():
    seen = {SORTED(row["state"]) for row in home_appliance.generate("dev")}
    kept = []
    for row in home_appliance.generate("test"):
        state = SORTED(row["state"])
        if state not in seen:
            kept.append(f"9:Home-Appliance:{row['id']}")
        seen.add(state)
    assert len(kept) == 88
    assert sorted(kept) == sorted(load_lines("home-appliance-run-ids.txt"))


# 4 BANKING77


def test_banking77_keeps_line_feeds_and_label_order(tmp_path):
    test = tmp_path / "test.csv"
    test.write_text(
        'text,category\r\n"\n\nWhere, exactly, is my ""card""? é",lost_card\r\nTop up?,top_up\r\n', "utf-8", newline=""
    )
    files = {"test.csv": test, "categories.json": write_json(tmp_path / "c.json", ["top_up", "lost_card"])}
    (track, first), (_track, second) = banking77.rows(files)
    assert track == "BANKING77"
    assert PLAIN(first) == (
        '{"id":"BANKING77:test:0","benchmark":"BANKING77","family":"BANKING77","split":"test","state":{},'
        '"questions":{"q1":{"type":"choice","instructions":"Classify the banking intent of this user request:'
        '\\n\\n\\nWhere, exactly, is my \\"card\\"? \\u00e9","criteria":{"option_0":"top_up","option_1":"lost_card"}}},'
        '"gold":{"q1":"option_1"},"expected":{"q1":"option_1"},"provenance":{"source_id":"0",'
        f'"source_file":"raw/banking77/test.csv","source_sha256":"{BANKING_SHA256}"}}}}'
    )
    assert (second["id"], second["gold"]) == ("BANKING77:test:1", {"q1": "option_0"})
    assert second["questions"]["q1"]["instructions"].endswith("request:\nTop up?")


# 32 MuSR

STORIES = {
    "murder_mystery": [("Rain fell.\n\n", [("Who did it?", ["Ann", "Bo"], 1)])],
    "object_placements": [
        (
            'A desk, a "shelf".',
            [("Where is it?", ["desk", "it's on the shelf", "box"], 2), ("And now?", ["desk", "box"], 0)],
        ),
        ("Another room.", [("Where is it?", ["floor", "bed", "bag", "cup", "hat"], 4)]),
    ],
    "team_allocation": [("Two jobs.", [("Who does what?", ["a", "b", "c"], 0)])],
}


def musr_json(folder: Path) -> dict[str, Path]:
    def item(context, questions):
        asked = [{"question": text, "choices": choices, "answer": answer} for text, choices, answer in questions]
        return {"context": context, "questions": [{**question, "intermediate_trees": []} for question in asked]}

    return {
        f"datasets/{stem}.json": write_json(folder / f"{stem}.json", [item(*story) for story in stories])
        for stem, stories in STORIES.items()
    }


def musr_csv(folder: Path) -> dict[str, Path]:
    files = {}
    for stem, stories in STORIES.items():
        files[f"TAUR-Lab-MuSR/{stem}.csv"] = path = folder / f"{stem}.csv"
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["narrative", "question", "choices", "answer_index", "answer_choice"])
            for context, questions in stories:
                for text, choices, answer in questions:
                    writer.writerow([context, text, choices, answer, choices[answer]])
    return files


@pytest.mark.parametrize("make", [musr_json, musr_csv])
def test_musr_gives_the_same_rows_from_either_release(tmp_path, make):
    rows = [row for _track, row in musr.rows(make(tmp_path))]
    assert PLAIN(rows[0]) == (
        '{"id":"MuSR:test:murder_mystery:0:0","benchmark":"MuSR","family":"MuSR","split":"test","state":{},'
        '"questions":{"q1":{"type":"choice","instructions":"Rain fell.\\n\\n\\n\\nWho did it?",'
        '"criteria":{"A":"Ann","B":"Bo"}}},"gold":{"q1":"B"},"expected":{"q1":"B"},'
        '"provenance":{"source_id":"murder_mystery:0:0","source_file":"raw/musr/datasets/murder_mystery.json",'
        f'"source_sha256":"{MURDERS_SHA256}"}}}}'
    )
    assert [(row["provenance"]["source_id"], row["gold"]["q1"]) for row in rows[1:]] == [
        ("object_placements:0:0", "C"),
        ("object_placements:0:1", "A"),
        ("object_placements:1:0", "E"),
        ("team_allocation:0:0", "A"),
    ]
    assert rows[1]["questions"]["q1"]["criteria"] == {"A": "desk", "B": "it's on the shelf", "C": "box"}
    assert rows[1]["questions"]["q1"]["instructions"] == 'A desk, a "shelf".\n\nWhere is it?'


# 34 SimpleBench


def test_simplebench_splits_body_and_option_lines(tmp_path):
    prompt = "  Beth has ice.\nMr. A. waits.\n\nA.  20 \nB.“none”\nC. 5. left\n"
    entry = {"question_id": 7, "prompt": prompt, "answer": "B"}
    files = {"simple_bench_public.json": write_json(tmp_path / "s.json", {"eval_data": [entry]})}
    [(track, row)] = simplebench.rows(files)
    assert track == "SimpleBench"
    assert PLAIN(row) == (
        '{"id":"SimpleBench:public:7","benchmark":"SimpleBench","family":"SimpleBench","split":"public","state":{},'
        '"questions":{"q1":{"type":"choice","instructions":"Beth has ice.\\nMr. A. waits.",'
        '"criteria":{"A":"20 ","B":"\\u201cnone\\u201d","C":"5. left"}}},"gold":{"q1":"B"},"expected":{"q1":"B"},'
        '"provenance":{"source_id":"7","source_file":"raw/simplebench/simple_bench_public.json",'
        f'"source_sha256":"{SIMPLEBENCH_SHA256}"}}}}'
    )


# 58 BBH


def bbh_files(folder: Path, **tasks: list[tuple[str, str]]) -> dict[str, Path]:
    return {
        f"bbh/{task}.json": write_json(
            folder / f"{task}.json",
            {"canary": "c", "examples": [{"input": text, "target": target} for text, target in examples]},
        )
        for task, examples in tasks.items()
    }


def test_bbh_row_of_a_lettered_task_in_full(tmp_path):
    text = "Options:\n(A) not these\nPick é.\nOptions:\n(A)  red \n(B) (A) blue"
    [row] = bbh.rows(bbh_files(tmp_path, logical_deduction_five_objects=[(text, "(B)")]))
    assert PLAIN(row) == (
        '{"id":"58:logical_deduction_five_objects:0","benchmark":"BBH fixed-option tasks",'
        '"family":"BBH fixed-option tasks","split":"evaluation",'
        '"state":"Options:\\n(A) not these\\nPick \\u00e9.\\nOptions:\\n(A)  red \\n(B) (A) blue",'
        '"questions":{"q":{"type":"choice","instructions":"Which option is the correct answer?",'
        '"criteria":{"(A)":" red ","(B)":"(A) blue"}}},"expected":{"q":"(B)"},'
        '"metadata":{"source_id":"logical_deduction_five_objects:0","group_id":"58:logical_deduction_five_objects:0",'
        '"track":"logical_deduction_five_objects","task_family":"logical_deduction",'
        '"source_file":"artifacts/benchmark-suite/raw/repos/cand-BIG-Bench-Hard/bbh/'
        'logical_deduction_five_objects.json"},'
        '"scoring":{"type":"candidate_decisions","primary_field":"q"}}'
    )


def test_bbh_takes_tasks_in_name_order_and_leaves_out_free_form_and_unanswerable_ones(tmp_path):
    files = bbh_files(
        tmp_path,
        web_of_lies=[("Does Ann lie?", "Yes")],
        word_sorting=[("Sort b a", "a b")],
        snarks=[("Which?\nOptions:\n(A) only", "(A)"), ("Which?\nOptions:\n(A) same\n(B) same", "(A)")],
        movie_recommendation=[("Which?\nOptions:\n(A) x\n(B) y", "x"), ("Which?\nOptions:\n(A) x\n(B) y", "(B)")],
        formal_fallacies=[("Is it?\nOptions:\n- valid \n- invalid", "valid")],
    )
    rows = list(bbh.rows(files))
    assert [row["id"] for row in rows] == [
        "58:formal_fallacies:0", "58:movie_recommendation:1", "58:snarks:1", "58:web_of_lies:0",
    ]
    assert [row["questions"]["q"]["criteria"] for row in rows] == [
        {"valid": "valid", "invalid": "invalid"}, {"(A)": "x", "(B)": "y"}, {"(A)": "same", "(B)": "same"},
        {"Yes": "Yes", "No": "No"},
    ]


@pytest.mark.parametrize("options", ["(A) x\n(C) y", "(A) x\nstray line", "(a) x\n(b) y", "- x\n(B) y"])
def test_bbh_stops_at_an_option_line_that_fits_no_form(tmp_path, options):
    files = bbh_files(tmp_path, snarks=[("Fine\nOptions:\n(A) x\n(B) y", "(A)"), (f"Bad\nOptions:\n{options}", "(A)")])
    with pytest.raises(ValueError, match=r"bbh/snarks.json, example 1: expected option"):
        list(bbh.rows(files))


def test_bbh_of_the_real_source_has_the_published_count_and_chance_level(shared):
    rows = list(bbh.rows(real_files(shared, 58)))
    tracks = Counter(row["metadata"]["track"] for row in rows)
    assert len(rows) == 5507
    chances = [1 / len(row["questions"]["q"]["criteria"]) for row in rows]
    assert sum(chances) / len(chances) == pytest.approx(0.310109, abs=1e-6)
    assert {track: count for track, count in tracks.items() if count != 250} == {
        "causal_judgement": 187,
        "movie_recommendation": 249,
        "penguins_in_a_table": 146,
        "ruin_names": 248,
        "snarks": 177,
    }


# Shared


def test_styles_escape_and_order_as_published():
    row = {"b": "é \x7f 😀 /", "a": {"d": 1, "c": 0.5}}
    assert PLAIN(row) == '{"b":"\\u00e9 \\u007f \\ud83d\\ude00 /","a":{"d":1,"c":0.5}}'
    assert SORTED(row) == '{"a":{"c":0.5,"d":1},"b":"\\u00e9 \\u007f \\ud83d\\ude00 /"}'
    assert SORTED_RAW(row) == '{"a":{"c":0.5,"d":1},"b":"é \x7f 😀 /"}'


def test_more_options_than_letters_are_refused():
    with pytest.raises(ValueError):
        lettered(["x"] * 27)
