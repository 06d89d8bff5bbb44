from suites import make_row, row_line

from suite_builder.differences import differences


def write(path, rows):
    path.write_bytes(b"".join(map(row_line, rows)))
    return path


def test_missing_extra_and_changed_rows_are_told_apart(tmp_path):
    rows = [make_row(41, number) for number in range(4)]
    changed = make_row(41, 1)
    changed["_evaluation"]["payload_sha256"] = "0" * 64
    ours = write(tmp_path / "ours.jsonl", [rows[0], changed, rows[3]])
    found = differences([ours], write(tmp_path / "reference.jsonl", rows[:3]))
    name = "41:VAST:VAST:test:{}".format
    assert (found.missing, found.extra, found.changed) == ([name(2)], [name(3)], [name(1)])
    assert found


def test_benchmarks_that_the_reference_does_not_have_are_left_alone(tmp_path):
    both = [make_row(41, 0), make_row(44, 0)]
    found = differences([write(tmp_path / "ours.jsonl", both)], write(tmp_path / "reference.jsonl", both[:1]))
    assert not found
