"""ACOS from the real source, and from hand-made files."""


import pytest
from recipe_sources import write_lines

from suite_builder.recipes import acos
from suite_builder.recipes.common import PLAIN

LAPTOP, RESTAURANT = "data/Laptop-ACOS/laptop_quad", "data/Restaurant-ACOS/rest16_quad"
FILES = {
    # 22 categories, 66 pairs
    f"{LAPTOP}_dev.tsv": [f"dev .\t-1,-1 C#{number:02} 1 -1,-1" for number in range(20)],
    f"{LAPTOP}_test.tsv": [
        "two\x85 of them\t0,1 C#00 0 1,2\t0,1 D#LAST 2 1,2\t0,1 C#00 2 1,2",
        "none else\t-1,-1 C#07 1 0,1",
    ],
    f"{LAPTOP}_train.tsv": ["train .\t1,2 D#LAST 0 -1,-1\t1,2 B&FIRST 0 -1,-1", ""],
    f"{RESTAURANT}_dev.tsv": ["ok\t-1,-1 FOOD#QUALITY 1 0,1"],
    f"{RESTAURANT}_test.tsv": [' the "é" was good . \t1,2 FOOD#QUALITY 2 3,4\t1,2 FOOD#QUALITY 2 -1,-1'],
    f"{RESTAURANT}_train.tsv": ["fine\t-1,-1 FOOD#QUALITY 2 0,1"],
}


def build(folder, **changes):
    files = {}
    for path, lines in FILES.items():
        stem = path.rpartition("/")[2].removesuffix(".tsv")
        files[path] = write_lines(folder / stem, changes.get(stem, lines))
    return [row for _track, row in acos.rows(files)]


def test_row_in_full(tmp_path):
    def question(name):
        return (
            '{"type":"choice","instructions":"Given the review below, decide whether it expresses at least one '
            f"aspect-category/sentiment pair (FOOD#QUALITY, {name}) anywhere in the review. Answer yes only when that "
            "exact category and sentiment pair is present; answer no otherwise. Multiple opposite sentiments are "
            'separate valid questions.","criteria":{"yes":"The exact category/sentiment pair is present.",'
            '"no":"The exact category/sentiment pair is absent."}}'
        )

    assert PLAIN(build(tmp_path)[-1]) == (
        '{"id":"ACOS:category-sentiment:Restaurant-ACOS:rest16_quad_test:line-1:group-1",'
        '"family":"ACOS-category-sentiment","split":"test","state":{"review":" the \\"\\u00e9\\" was good . ",'
        '"task":"ACOS fixed category/sentiment presence"},"questions":{'
        f'"FOOD#QUALITY__sentiment_negative":{question("negative")},'
        f'"FOOD#QUALITY__sentiment_neutral":{question("neutral")},'
        f'"FOOD#QUALITY__sentiment_positive":{question("positive")}}},'
        '"expected":{"FOOD#QUALITY__sentiment_negative":"no","FOOD#QUALITY__sentiment_neutral":"no",'
        '"FOOD#QUALITY__sentiment_positive":"yes"},"metadata":{"provenance":{'
        '"source":"artifacts/benchmark-suite/raw/repos/acos/data/Restaurant-ACOS/rest16_quad_test.tsv",'
        '"sha256":"59969ab711c7a6b984ffe2ac1ec2f9ef8aaee54587fc195fe1ace6728ecb3644",'
        '"revision":"45d179a3dcc6a3dedd848d81b16f2552454805fe","source_line":1},'
        '"adaptation_scope":"Named category/sentiment presence projection; full ACOS tuple extraction is not claimed.",'
        '"category_inventory":[["FOOD#QUALITY","0"],["FOOD#QUALITY","1"],["FOOD#QUALITY","2"]],'
        '"inventory_group":1,"inventory_group_count":1,"group_id":"Restaurant-ACOS:rest16_quad_test:line-1",'
        '"asserted_label_mapping":{"0":"negative","1":"neutral","2":"positive"},'
        '"counts":{"source_reviews":1,"questions_per_review":3}}}'
    )


def test_the_inventory_of_all_parts_is_cut_into_groups_of_64(tmp_path):
    rows = build(tmp_path)
    assert [row["id"].removeprefix("ACOS:category-sentiment:") for row in rows] == [
        "Laptop-ACOS:laptop_quad_test:line-1:group-1",
        "Laptop-ACOS:laptop_quad_test:line-1:group-2",
        "Laptop-ACOS:laptop_quad_test:line-2:group-1",
        "Laptop-ACOS:laptop_quad_test:line-2:group-2",
        "Restaurant-ACOS:rest16_quad_test:line-1:group-1",
    ]
    first, second = rows[0]["metadata"], rows[1]["metadata"]
    assert first["category_inventory"][:4] == [("B&FIRST", "0"), ("B&FIRST", "1"), ("B&FIRST", "2"), ("C#00", "0")]
    assert second["category_inventory"] == [("D#LAST", "1"), ("D#LAST", "2")]
    assert first["counts"] == {"source_reviews": 2, "questions_per_review": 64}
    assert (second["inventory_group"], second["inventory_group_count"]) == (2, 2)
    assert first["group_id"] == second["group_id"] == "Laptop-ACOS:laptop_quad_test:line-1"


def test_pairs_of_a_review_are_those_of_its_own_quadruples(tmp_path):
    rows = build(tmp_path)[:4]
    assert rows[0]["state"]["review"] == "two\x85 of them"
    assert [[key for key, answer in row["expected"].items() if answer == "yes"] for row in rows] == [
        ["C#00__sentiment_negative", "C#00__sentiment_positive"],
        ["D#LAST__sentiment_positive"],
        ["C#07__sentiment_neutral"],
        [],
    ]
    assert all(row["questions"].keys() == row["expected"].keys() for row in rows)


@pytest.mark.parametrize(
    "line", ["no quadruple", "text\t0,1 A#B 0", "text\t0,1 A#B 0 1,2 3", "text\t0,1 A#B 3 1,2", "text\t"]
)
@pytest.mark.parametrize("stem", ["laptop_quad_test", "rest16_quad_train"])
def test_a_line_without_proper_quadruples_is_named(tmp_path, stem, line):
    with pytest.raises(ValueError, match=rf"^data/.*/{stem}.tsv, line 2: expected a review and quadruples"):
        build(tmp_path, **{stem: ["fine\t-1,-1 A#B 2 0,1", line]})
