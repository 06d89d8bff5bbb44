"""POP909-CL: which chord sounds at a beat of a pop song, given the notes around it.

A song is a MIDI file with its notes on channel 0 and an expert's chords on channel 1.
"""

import hashlib
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite_builder.recipes.common import PLAIN, choice
from suite_builder.sources import sources

if TYPE_CHECKING:
    from mido import Message, MidiFile, MidiTrack

CATALOG_ID = 22
STYLE = PLAIN

SKIPPED_SONGS = {"518", "620"}
SCORE, CHORDS = 0, 1  # channels
FIRST_BEAT, BEAT_STEP = 2, 4
CONTEXT_BEATS = 4  # before the target beat, and after it
INSTRUCTIONS = (
    "Infer the chord sounding at the target beat from the score notes and musical context. Choose its pitch-class set; "
    "MIDI pitch classes are C=0 through B=11. Equivalent chord names are grouped."
)
PROTOCOL = (
    "Score channel0 only; expert chord channel1 hidden. Fixed four-beat target grid, eight-beat context. "
    "Symbolic chord recognition, not arrangement or audio understanding."
)

ROOTS = "C C# D D# E F F# G G# A A# B".split()
CHORD_TYPES = {
    "M": (0, 4, 7),
    "m": (0, 3, 7),
    "dim": (0, 3, 6),
    "aug": (0, 4, 8),
    "sus2": (0, 2, 7),
    "sus4": (0, 5, 7),
    "7": (0, 4, 7, 10),
    "maj7": (0, 4, 7, 11),
    "m7": (0, 3, 7, 10),
    "half-dim7": (0, 3, 6, 10),
    "dim7": (0, 3, 6, 9),
    "mMaj7": (0, 3, 7, 11),
    "aug7": (0, 4, 8, 10),
}

Note = tuple[int, int, int]  # start and end in ticks, pitch


def _vocabulary() -> dict[tuple[int, ...], str]:
    """Pitch-class set -> the names of its chords."""
    names: dict[tuple[int, ...], list[str]] = {}
    for root, root_name in enumerate(ROOTS):
        for type_name, intervals in CHORD_TYPES.items():
            pitch_classes = tuple(sorted((root + interval) % 12 for interval in intervals))
            names.setdefault(pitch_classes, []).append(root_name + type_name)
    return {pitch_classes: " / ".join(same) for pitch_classes, same in names.items()}


VOCABULARY = _vocabulary()
PLACES = {pitch_classes: place for place, pitch_classes in enumerate((*VOCABULARY, ()))}
CLASSES = [*VOCABULARY.values(), "NoChord", "Other"]
OPTIONS = [
    *({"names": names, "pitch_classes": pitch_classes} for pitch_classes, names in VOCABULARY.items()),
    "No chord sounding at the target beat.",
    "A chord pitch-class set outside this vocabulary.",
]
QUESTION = choice(INSTRUCTIONS, {f"chord_{place}": option for place, option in enumerate(OPTIONS)})


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """The songs in path order, of each a row for every fourth beat.

    Raises:
        ValueError: a file cannot be read as MIDI; names it.
    """
    import mido

    for path in sorted(files):
        if (song_id := Path(path).stem) not in SKIPPED_SONGS:
            try:
                song = mido.MidiFile(files[path])
            except (EOFError, LookupError, OSError, ValueError, mido.KeySignatureError) as error:
                raise ValueError(f"{path} cannot be read as MIDI: {error!r}") from None
            sha256 = hashlib.sha256(files[path].read_bytes()).hexdigest()
            for row in _song_rows(song_id, song, sha256):
                yield "POP909-chord-pitch-class", row


def _song_rows(song_id: str, song: "MidiFile", sha256: str) -> Iterator[dict[str, Any]]:
    ticks, notes, public_context = song.ticks_per_beat, _notes(song), _public_context(song)
    score = [(start, end, _shown(start, end, pitch, ticks)) for start, end, pitch in notes[SCORE]]
    last = max((end for _start, end, _note in score), default=max(map(_length, song.tracks), default=0))
    for beat in range(FIRST_BEAT, int(last / ticks) + 1, BEAT_STEP):
        tick, around = beat * ticks, CONTEXT_BEATS * ticks
        sounding = sorted({pitch % 12 for start, end, pitch in notes[CHORDS] if start <= tick < end})
        place = PLACES.get(tuple(sounding), len(PLACES))
        group_id = f"{song_id}:beat-{beat}"
        yield {
            "id": f"POP909:{group_id}",
            "family": "POP909-chord-pitch-class",
            "split": "evaluation-only",
            "state": {
                "target_time_beats": beat,
                "context_notes": [note for start, end, note in score if start < tick + around and end > tick - around],
                "public_context": public_context,
            },
            "questions": {"chord": QUESTION},
            "expected": {"chord": f"chord_{place}"},
            "metadata": {
                "group_id": group_id,
                "song_id": song_id,
                "source_sha256": sha256,
                "source_revision": sources()[CATALOG_ID][0].revision,
                "gold_annotation_pitch_classes": sounding,
                "gold_class": CLASSES[place],
                "uncertainty_cluster": "song_id",
                "protocol": PROTOCOL,
            },
        }


def _shown(start: int, end: int, pitch: int, ticks: int) -> dict[str, Any]:
    """A note as rows show it."""
    return {"pitch": pitch, "pitch_class": pitch % 12, "start_beat": start / ticks, "end_beat": end / ticks}


def _notes(song: "MidiFile") -> dict[int, list[Note]]:
    """Channel -> its notes in the order in which they end, track after track; what never ends is no note."""
    notes: dict[int, list[Note]] = {SCORE: [], CHORDS: []}
    for track in song.tracks:
        starts: dict[tuple[int, int], deque[int]] = defaultdict(deque)
        for tick, message in _timed(track):
            if message.type in ("note_on", "note_off") and message.channel in notes:
                waiting = starts[message.channel, message.note]
                if message.type == "note_on" and message.velocity > 0:
                    waiting.append(tick)
                elif waiting:
                    notes[message.channel].append((waiting.popleft(), tick, message.note))
    return notes


def _timed(track: "MidiTrack") -> Iterator[tuple[int, "Message"]]:
    """Every message with its absolute tick."""
    tick = 0
    for message in track:
        tick += message.time
        yield tick, message


def _length(track: "MidiTrack") -> int:
    """Ticks until the last message."""
    return sum(message.time for message in track)


def _public_context(song: "MidiFile") -> dict[str, Any]:
    keys, times = [], []
    for track in song.tracks:
        for tick, message in _timed(track):
            beat = tick / song.ticks_per_beat
            if message.type == "key_signature":
                keys.append({"beat": beat, "key": message.key})
            elif message.type == "time_signature":
                times.append({"beat": beat, "numerator": message.numerator, "denominator": message.denominator})
    return {"ticks_per_beat": song.ticks_per_beat, "key_signatures": keys, "time_signatures": times}
