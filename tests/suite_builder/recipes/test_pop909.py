"""POP909-CL from the real source, and from hand-made MIDI files."""

import hashlib
import json
from pathlib import Path

import pytest
from mido import Message, MetaMessage, MidiFile, MidiTrack
from recipe_sources import published_requests, real_files, write_lines

from suite_builder.catalog import benchmarks
from suite_builder.freeze import base_lines
from suite_builder.recipes import pop909
from suite_builder.recipes.common import PLAIN

TRACK = "POP909-chord-pitch-class"
FOLDER = "POP909_processed"
CRITERIA_SHA256 = "0366a645ef452399018218073bff766891da171fe93ecb856d3f181b420a8e30"  # from the recipe
BEAT = 480


def note(channel, pitch, start, end):
    """Note on and off, the off written as a note on without velocity every other pitch."""
    off = Message("note_off", channel=channel, note=pitch)
    if pitch % 2:
        off = Message("note_on", channel=channel, note=pitch, velocity=0)
    return [(start, Message("note_on", channel=channel, note=pitch, velocity=90)), (end, off)]


def write_song(file, *tracks):
    """Write tracks of (tick, message), whose messages come in the order of their ticks, else as listed."""
    song = MidiFile(type=1, ticks_per_beat=BEAT)
    for events in tracks:
        track, now = MidiTrack(), 0
        for tick, message in sorted(events, key=lambda event: event[0]):
            track.append(message.copy(time=tick - now))
            now = tick
        song.tracks.append(track)
    song.save(file)
    return file


META = [
    (0, MetaMessage("track_name", name="meta")),
    (0, MetaMessage("time_signature", numerator=4, denominator=4)),
    (0, MetaMessage("key_signature", key="Gb")),
    (360, MetaMessage("time_signature", numerator=6, denominator=8)),
]
MELODY = [
    *note(0, 48, 0, 1000),  # closed after what starts later
    (0, Message("program_change", channel=0, program=3)),
    *note(0, 60, 0, 400),
    *note(0, 60, 240, 720),  # same pitch: the first on meets the first off
    (500, Message("note_off", channel=0, note=71)),  # was never on
    (600, Message("note_on", channel=0, note=64, velocity=90)),  # is never off
    *note(2, 65, 100, 800),  # neither score nor chords
]
BASS = [*note(0, 37, 480, 960), *note(0, 41, 2880, 4800)]
CHORDS = [
    *note(1, 64, 480, 1440), *note(1, 60, 480, 1440), *note(1, 67, 960, 1440), *note(1, 72, 0, 1440),  # C major, beat 2
    *note(1, 61, 960, 960),  # sounds for no time
    *note(1, 62, 1440, 2880),  # over at beat 6
    *note(1, 60, 4800, 9600), *note(1, 61, 4800, 9600), *note(1, 62, 4800, 9600),  # no chord with a name, at beat 10
]


def build(folder, **songs):
    files = {}
    for song_id, tracks in songs.items():
        path = f"{FOLDER}/{song_id}.mid"
        files[path] = write_song(folder / f"{song_id}.mid", *tracks)
    pairs = list(pop909.rows(files))
    assert {track for track, _row in pairs} == {TRACK}
    return [row for _track, row in pairs]


def test_single_requests_of_real_songs_are_the_published_ones(shared, tmp_path):
    published = published_requests(shared, 22)
    songs = {request["group_id"].partition(":")[0] for request in published}
    files = {path: file for path, file in real_files(shared, 22).items() if Path(path).stem in songs}
    normalized = write_lines(tmp_path / "n.jsonl", (PLAIN(row) for _track, row in pop909.rows(files)))
    lines = base_lines(benchmarks()[22], {TRACK: normalized})  # all rows: they are fewer than the cap
    built = {facts["run_id"]: facts for facts in (json.loads(line)["_evaluation"] for line in lines)}
    assert published and [built[request["run_id"]] for request in published] == published


def test_the_song_with_a_space_in_its_name_keeps_it(shared):
    path = f"{FOLDER}/043 .mid"
    _track, row = next(pop909.rows({path: real_files(shared, 22)[path]}))
    assert (row["id"], row["metadata"]["song_id"]) == ("POP909:043 :beat-2", "043 ")


def test_options_are_127_pitch_class_sets_no_chord_and_other():
    criteria = pop909.QUESTION["criteria"]
    assert hashlib.sha256(PLAIN(criteria).encode()).hexdigest() == CRITERIA_SHA256
    assert list(criteria) == [f"chord_{place}" for place in range(129)]
    names = [option["names"] for option in list(criteria.values())[:-2]]
    assert {"CM", "Csus2 / Gsus4", "Caug / Eaug / G#aug"} < set(names)


def test_row_in_full(tmp_path):
    rows = build(tmp_path, **{"001": [META, MELODY, BASS, CHORDS]})
    row = {**rows[0], "questions": {"chord": {**rows[0]["questions"]["chord"], "criteria": {}}}}
    sha256 = hashlib.sha256((tmp_path / "001.mid").read_bytes()).hexdigest()
    assert PLAIN(row) == (
        '{"id":"POP909:001:beat-2","family":"POP909-chord-pitch-class","split":"evaluation-only",'
        '"state":{"target_time_beats":2,"context_notes":['
        '{"pitch":60,"pitch_class":0,"start_beat":0.0,"end_beat":0.8333333333333334},'
        '{"pitch":60,"pitch_class":0,"start_beat":0.5,"end_beat":1.5},'
        '{"pitch":48,"pitch_class":0,"start_beat":0.0,"end_beat":2.0833333333333335},'
        '{"pitch":37,"pitch_class":1,"start_beat":1.0,"end_beat":2.0}],'
        '"public_context":{"ticks_per_beat":480,"key_signatures":[{"beat":0.0,"key":"Gb"}],'
        '"time_signatures":[{"beat":0.0,"numerator":4,"denominator":4},{"beat":0.75,"numerator":6,"denominator":8}]}},'
        '"questions":{"chord":{"type":"choice","instructions":"Infer the chord sounding at the target beat from the '
        "score notes and musical context. Choose its pitch-class set; MIDI pitch classes are C=0 through B=11. "
        'Equivalent chord names are grouped.","criteria":{}}},"expected":{"chord":"chord_0"},'
        '"metadata":{"group_id":"001:beat-2",'
        f'"song_id":"001","source_sha256":"{sha256}","source_revision":"be9094392903c471a930519e1c0bacf8b6be5d62",'
        '"gold_annotation_pitch_classes":[0,4,7],"gold_class":"CM","uncertainty_cluster":"song_id",'
        '"protocol":"Score channel0 only; expert chord channel1 hidden. Fixed four-beat target grid, eight-beat '
        'context. Symbolic chord recognition, not arrangement or audio understanding."}}'
    )


def test_a_row_stands_for_every_fourth_beat_and_names_what_sounds_there(tmp_path):
    rows = build(tmp_path, **{"001": [META, MELODY, BASS, CHORDS]})
    assert [row["state"]["target_time_beats"] for row in rows] == [2, 6, 10]
    assert [row["metadata"]["gold_annotation_pitch_classes"] for row in rows] == [[0, 4, 7], [], [0, 1, 2]]
    assert [row["metadata"]["gold_class"] for row in rows] == ["CM", "NoChord", "Other"]
    assert [row["expected"]["chord"] for row in rows] == ["chord_0", "chord_127", "chord_128"]


def test_the_context_holds_four_beats_on_either_side_without_their_ends(tmp_path):
    rows = build(tmp_path, **{"001": [META, MELODY, BASS, CHORDS]})
    contexts = [[(shown["pitch"], shown["end_beat"]) for shown in row["state"]["context_notes"]] for row in rows]
    assert contexts[1:] == [[(48, 1000 / BEAT), (41, 10.0)], [(41, 10.0)]]


@pytest.mark.parametrize(
    "last, beats", [(4799, [2, 6]), (4800, [2, 6, 10]), (BEAT, []), (2 * BEAT - 1, []), (2 * BEAT, [2])]
)
def test_the_grid_ends_with_the_score_whatever_the_chords_do(tmp_path, last, beats):
    rows = list(pop909.rows({f"{FOLDER}/1.mid": write_song(tmp_path / "1.mid", note(0, 60, 0, last), CHORDS)}))
    assert [row["state"]["target_time_beats"] for _track, row in rows] == beats


def test_without_a_score_the_grid_ends_with_the_file(tmp_path):
    rows = build(tmp_path, **{"001": [META, note(1, 60, 0, 2880)]})
    assert [row["metadata"]["group_id"] for row in rows] == ["001:beat-2", "001:beat-6"]
    assert rows[0]["state"]["context_notes"] == []


def test_songs_come_in_path_order_without_the_two_left_out(tmp_path):
    songs = ["044", "620", "043", "518", "043 "]
    rows = build(tmp_path, **{song_id: [note(0, 60, 0, 2 * BEAT)] for song_id in songs})
    assert [row["metadata"]["song_id"] for row in rows] == ["043 ", "043", "044"]


@pytest.mark.parametrize(
    "content", [b"", b"MThd", b"RIFF not midi at all", b"MThd\0\0\0\6\0\1\0\1\1\xe0MTrk\0\0\0\x09\0\x90"]
)
def test_a_file_that_is_no_midi_is_named(tmp_path, content):
    file = tmp_path / "1.mid"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=rf"^{FOLDER}/1.mid cannot be read as MIDI: "):
        list(pop909.rows({f"{FOLDER}/1.mid": file}))
