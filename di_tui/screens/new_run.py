"""The form for a new run."""

from collections.abc import Collection, Mapping
from pathlib import Path

from di_tui.run_form import NEED_URL, RunForm, rows_nearby, usual_out
from di_tui.screens.form import Field, FormScreen
from engines.base import SHIPPED

OWN = "own"
FIRST_ENGINE = "lexical"
WITHOUT_MODEL = ("random", "lexical")
SCORE = (("score it when it is complete", "yes"), ("leave it unscored", "no"))


class NewRunScreen(FormScreen):
    """Asks what to run, begins it as a job and opens its monitor.

    Args:
        folder: where runs go; suites and samples are looked for beside it.
    """

    crumb = "new run"

    def __init__(self, folder: Path):
        super().__init__()
        self.folder = folder
        self._usual_out = ""

    def fields(self) -> Mapping[str, Field]:
        nearby = rows_nearby(self.folder.absolute().parent)
        engines = [*((name, name) for name in SHIPPED), ("my own: module:Class", OWN)]
        return {
            "shipped": Field("Engine", value=FIRST_ENGINE, choices=engines),
            "engine": Field("Class", "module:Class, such as my_engines:Mine"),
            "model": Field("Model", "Hub id, local folder or GGUF file"),
            "url": Field("URL", "http://127.0.0.1:8000"),
            "options": Field("Options", "NAME=VALUE NAME=VALUE"),
            "suite": Field("Suite", "suite directory, or rows file such as a sample", next(iter(nearby), ""), suggested=nearby),
            "out": Field("Output", "folder for the results"),
            "limit": Field("Limit", "all requests; a number stops after so many"),
            "score": Field("Then", choices=SCORE),
        }

    def form(self, texts: Mapping[str, str]) -> RunForm:
        given = dict(texts)
        shipped = given.pop("shipped")
        return RunForm(**{**given, "engine": given["engine"] if shipped == OWN else shipped, "score": given["score"] == "yes"})

    def adapt(self, texts: Mapping[str, str]) -> Collection[str]:
        if texts["out"] == self._usual_out:
            self._usual_out = usual_out(self.folder, self.form(texts))
            self.fill("out", self._usual_out)
        engine = texts["shipped"]
        of_use = {"engine": engine == OWN, "url": engine in NEED_URL, "model": engine not in WITHOUT_MODEL}
        return [name for name, shown in of_use.items() if not shown]

    def begin(self, form: RunForm) -> None:
        from di_tui.run_job import RunJob

        job = RunJob(Path(form.out), form.arguments())
        self.app.leave_screen()
        self.app.attend(job, f"The run in {form.out}")
        self.app.watch_run(Path(form.out), job)
