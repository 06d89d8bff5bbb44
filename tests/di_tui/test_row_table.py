"""The table of any length: only what is in view is made, and the cursor stays on its row."""

from textual.app import App

from di_tui.widgets.columns import Column
from di_tui.widgets.row_table import LazyRows, Row, RowTable


class Numbers(LazyRows):
    """Rows that are made when asked for; `made` counts them."""

    def __init__(self, count):
        self.count = count
        self.made = 0

    def __len__(self):
        return self.count

    def __getitem__(self, place):
        self.made += 1
        return Row(place, {"number": f"row {place}"})

    def place_of(self, key):
        return key if key < self.count else None


class Table(App):
    def compose(self):
        yield RowTable([Column("number", "Number", 20)])


async def test_only_rows_in_view_are_made(screen_text):
    app, rows = Table(), Numbers(150_000)
    async with app.run_test(size=(40, 20)) as pilot:
        table = app.query_one(RowTable)
        table.show(rows)
        await pilot.press("end")
        await pilot.pause()
        lines = screen_text(app).splitlines()
        assert lines[0].strip() == "Number" and lines[-1].strip() == "row 149999"
        await pilot.press("pageup", "pageup")
        await pilot.pause()
        assert screen_text(app).splitlines()[1].strip() == "row 149961" and table.current.key == 149_961
    assert rows.made < 1000


async def test_a_row_far_away_is_found_and_shown_without_making_those_before_it(screen_text):
    app, rows = Table(), Numbers(150_000)
    async with app.run_test(size=(40, 20)) as pilot:
        table = app.query_one(RowTable)
        table.show(rows, 140_000)
        table.reveal()
        await pilot.pause()
        assert table.current.key == 140_000 and "row 140000" in screen_text(app)
        table.show(Numbers(10))
        assert table.current.key == 9
    assert rows.made < 200


async def test_the_cursor_stays_on_its_row_when_rows_move_and_near_it_when_it_goes():
    app = Table()
    async with app.run_test(size=(40, 20)) as pilot:
        table = app.query_one(RowTable)
        table.show([Row("a"), Row("b"), Row("c")])
        await pilot.press("down")
        table.show([Row("c"), Row("x"), Row("b"), Row("a")])
        assert table.current.key == "b"
        table.show([Row("c"), Row("a")])
        assert table.current.key == "a"
        table.show([])
        assert table.current is None
        await pilot.press("down", "up", "end", "pagedown")
        table.show([Row("z")])
        assert table.current.key == "z"
