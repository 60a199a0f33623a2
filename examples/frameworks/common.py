"""What the examples share: progress bars, and where plots go."""

from __future__ import annotations

from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent


class Bar:
    """A bar that says what it is at: `for n in bar.steps(100): bar.say("loss 0.3")`."""

    def __init__(self, title):
        said = TextColumn("{task.fields[said]}")
        self.progress = Progress(TextColumn(title), BarColumn(), said, TimeRemainingColumn())

    def steps(self, count):
        with self.progress:
            self.task = self.progress.add_task("", total=count, said="")
            for n in range(count):
                yield n
                self.progress.advance(self.task)

    def say(self, text):
        self.progress.update(self.task, said=text)


def axes(columns, **options):
    """A row of empty axes, on no screen."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    return pyplot.subplots(1, columns, figsize=(4.5 * columns, 3.6), layout="constrained", squeeze=False, **options)


def save(figure, name):
    """The figure as build/examples/NAME.svg."""
    path = ROOT / "build" / "examples" / f"{name}.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    print(f"plot: {path.relative_to(ROOT)}")
