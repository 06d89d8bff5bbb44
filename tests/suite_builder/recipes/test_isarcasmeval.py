"""iSarcasmEval from the real source, and from hand-made CSV files."""

import pytest

from suite_builder.recipes import isarcasmeval
from suite_builder.recipes.common import PLAIN

FILES = {
    "test/task_A_Ar_test.csv": "text,dialect,sarcastic\nنعم,gulf,1\n",
    "test/task_A_En_test.csv": 'text,sarcastic\n"Two lines,\n\n ""quoted"" ",0\nYes!,1\n',
    "test/task_B_En_test.csv": (
        "text,sarcasm,irony,satire,understatement,overstatement,rhetorical_question\n a hug 😀,1,0,0,1,0,1\n"
    ),
    "test/task_C_Ar_test.csv": "text_0,text_1,dialect,sarcastic_id\nنعم,لا,msa,1\n",
    "test/task_C_En_test.csv": "text_0,text_1,sarcastic_id\nWell done! ,Not well done.,0\n",
}
SHA256 = "0ea25619ca3358ecc8440daac1b9bba4d18455bf5b76d874d8dd6a959e72fc49"
NO_YES = {"no": "No", "yes": "Yes"}


def build(folder, **changes):
    files = {}
    for path, content in FILES.items():
        files[path] = folder / path.removeprefix("test/")
        files[path].write_bytes(changes.get(files[path].stem, content).encode())
    return list(isarcasmeval.rows(files))


def test_row_of_task_a_in_full(tmp_path):
    rows = [row for track, row in build(tmp_path) if track == "iSarcasmEval-A-En"]
    assert PLAIN(rows[0]) == (
        '{"id":"iSarcasmEval-A-En:test:0","family":"iSarcasmEval-A-En","split":"test",'
        '"state":"Two lines,\\n\\n \\"quoted\\" ","questions":{"sarcastic":{"type":"choice",'
        '"instructions":"Is this text intended to be sarcastic?","criteria":{"no":"No","yes":"Yes"}}},'
        '"expected":{"sarcastic":"no"},"metadata":{"benchmark_number":40,'
        '"source_file":"artifacts/benchmark-suite/raw/repos/isarcasm/test/task_A_En_test.csv",'
        f'"source_sha256":"{SHA256}","source_revision":"dfc708b53bde1bb571abfb5692f63231c2232195","source_id":0,'
        '"source":"https://github.com/iabufarha/iSarcasmEval","task":"A","language":"En",'
        '"mapping":"native binary/pairwise decisions; B uses one binary question per label",'
        '"primary_metric":"sarcastic-class F1"}}'
    )
    assert (rows[1]["id"], rows[1]["expected"]) == ("iSarcasmEval-A-En:test:1", {"sarcastic": "yes"})


def test_tracks_follow_each_other_in_published_order(tmp_path):
    assert [track for track, _row in build(tmp_path)] == [
        "iSarcasmEval-A-Ar", "iSarcasmEval-A-En", "iSarcasmEval-A-En", "iSarcasmEval-B-En", "iSarcasmEval-C-Ar",
        "iSarcasmEval-C-En",
    ]


def test_task_b_asks_for_every_label(tmp_path):
    [row] = [row for track, row in build(tmp_path) if track == "iSarcasmEval-B-En"]
    assert row["state"] == " a hug 😀"
    assert list(row["questions"]) == list(row["expected"])
    assert list(row["expected"].items()) == [
        ("sarcasm", "yes"), ("irony", "no"), ("satire", "no"), ("understatement", "yes"), ("overstatement", "no"),
        ("rhetorical_question", "yes"),
    ]
    assert row["questions"]["rhetorical_question"] == {
        "type": "choice",
        "instructions": "Does this text exhibit rhetorical question? Evaluate this category independently.",
        "criteria": NO_YES,
    }
    assert list(row["questions"]["irony"]["criteria"].items()) == list(NO_YES.items())
    assert row["metadata"]["primary_metric"] == "macro-F1 across labels"


def test_task_c_offers_both_texts(tmp_path):
    arabic, english = [row for track, row in build(tmp_path) if track.startswith("iSarcasmEval-C")]
    assert (arabic["state"], arabic["expected"]) == ("", {"answer": "text_1"})
    assert arabic["questions"]["answer"]["criteria"] == {"text_0": "نعم", "text_1": "لا"}
    assert english["questions"]["answer"] == {
        "type": "choice",
        "instructions": "Which of these two texts is the sarcastic one?",
        "criteria": {"text_0": "Well done! ", "text_1": "Not well done."},
    }
    assert english["expected"] == {"answer": "text_0"}
    assert (english["metadata"]["task"], english["metadata"]["language"]) == ("C", "En")
    assert english["metadata"]["primary_metric"] == "accuracy"


@pytest.mark.parametrize(
    "stem, content, message",
    [
        ("task_A_En_test", "text,sarcastic\na,1\nb,yes\n", "record 1: sarcastic is 'yes', neither 0 nor 1"),
        ("task_A_En_test", "text,sarcastic\na,1\nb\n", "record 1: expected 2 cells, found 1"),
        ("task_B_En_test", FILES["test/task_B_En_test.csv"].replace(",0,1\n", ",,1\n"), "record 0: overstatement"),
        ("task_C_Ar_test", "text_0,text_1,dialect,sarcastic_id\na,b,msa,2\n", "record 0: sarcastic_id is '2'"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, stem, content, message):
    with pytest.raises(ValueError, match=rf"^test/{stem}.csv, {message}"):
        build(tmp_path, **{stem: content})


@pytest.mark.parametrize("stem", ["task_A_Ar_test", "task_B_En_test", "task_C_En_test"])
def test_another_header_is_refused(tmp_path, stem):
    with pytest.raises(ValueError, match=rf"^test/{stem}.csv: expected the header text.*, found text,rating$"):
        build(tmp_path, **{stem: "text,rating\na,1\n"})
