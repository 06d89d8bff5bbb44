"""The form for a rebuild of the suite."""

from collections.abc import Collection, Mapping
from pathlib import Path

from di_tui.rebuild_form import RebuildForm
from di_tui.screens.form import Field, FormScreen
from suite_builder.editions import edition, editions

LACKING = (("refuse a suite that lacks benchmarks", "no"), ("write a partial suite then", "yes"))


class NewRebuildScreen(FormScreen):
    """Asks what to build, begins it as a job and follows it."""

    crumb = "rebuild"

    def __init__(self) -> None:
        super().__init__()
        self._usual_suite = ""

    def fields(self) -> Mapping[str, Field]:
        return {
            "edition": Field("Edition", value=edition().id, choices=[(name, name) for name in editions()]),
            "only": Field("Only", "all benchmarks; or catalog ids, such as 4 9 34"),
            "mirror": Field("Mirror", "download the sources; or a folder that holds them"),
            "suite_dir": Field("Suite", "folder for the suite"),
            "work": Field("Work", "folder for sources and intermediate files", "work"),
            "partial": Field("Lacking", choices=LACKING),
        }

    def form(self, texts: Mapping[str, str]) -> RebuildForm:
        return RebuildForm(**{**texts, "partial": texts["partial"] == "yes"})

    def adapt(self, texts: Mapping[str, str]) -> Collection[str]:
        if texts["suite_dir"] == self._usual_suite:
            usual = edition(texts["edition"]).suite_dir
            self._usual_suite = f"{usual}-part" if texts["only"] else usual
            self.fill("suite_dir", self._usual_suite)
        return ("partial",) if texts["only"] else ()

    def begin(self, form: RebuildForm) -> None:
        from di_tui.rebuild_job import RebuildJob
        from di_tui.screens.rebuild import RebuildScreen

        job = RebuildJob(Path(form.work), form.arguments())
        self.app.leave_screen()
        self.app.attend(job, f"The rebuild in {form.work}")
        self.app.push_screen(RebuildScreen(Path(form.work), job))
