"""Writes docs/flags.md from the configurations; run as ``python -m evenkeel.cli.document_flags``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from admission.config import AdmissionConfig
from autoscaling.runtime.flag_help import default_texts, describe
from autoscaling.runtime.flag_model import FlagModel, FlagSpec, Standing, flag_specs
from autoscaling.runtime.flags import ProcessConfig
from recommender.config import RecommenderConfig
from updater.config import UpdaterConfig

_INTRODUCTION = """\
# Flags

This file is generated: `python -m evenkeel.cli.document_flags` writes it.

Names and defaults are upstream's, so that a command line written for upstream VPA 1.8.1 works unchanged. `--flag=value`
and `--flag value` are the same; `--flag` alone switches a truth value on and `--flag=false` switches it off. Of a flag
given twice the last one counts, except where it says that it may be repeated. Durations are Go's: `90s`, `1m`,
`1h30m`, `100ms`; the largest unit is the hour. Prometheus durations also know `d`, `w` and `y`. Underscores in flag
names count as dashes.

A command line that cannot be read ends the process with status 2, one that contradicts itself with status 1.
Environment variables are not read, except `NAMESPACE`, `PROMETHEUS_USERNAME` and `PROMETHEUS_PASSWORD` where a flag
says so, and those of the libraries: `KUBERNETES_SERVICE_*` and `OTEL_*`.
"""


def render_flags() -> str:
    """Return the text of docs/flags.md."""
    shared = {spec.name for spec in flag_specs(ProcessConfig)} - {"address"}
    common = [spec for spec in flag_specs(UpdaterConfig) if spec.name in shared]
    ignored = [spec for spec in common if spec.standing is Standing.WITHOUT_EFFECT]
    sections = [
        _INTRODUCTION,
        _section("All processes", (spec for spec in common if spec not in ignored)),
        *(
            _section(f"{title} (`{model.program}`)", (s for s in flag_specs(model) if s.name not in shared))
            for title, model in _PROCESSES.items()
        ),
        _section("Log flags without effect", ignored),
    ]
    return "\n".join(sections)


_PROCESSES: dict[str, type[FlagModel]] = {
    "Recommender": RecommenderConfig,
    "Updater": UpdaterConfig,
    "Admission controller": AdmissionConfig,
}


def _section(title: str, specs: Iterable[FlagSpec]) -> str:
    """Return a heading and a table of flags."""
    rows = "".join(f"| `--{s.name}` | {s.syntax.name} | {_default(s)} | {_escaped(describe(s))} |\n" for s in specs)
    return f"## {title}\n\n| flag | kind | default | meaning |\n|---|---|---|---|\n{rows}"


def _default(spec: FlagSpec) -> str:
    """Return the default, or both where it goes with the API group."""
    own, *upstream = (f"`{_escaped(text)}`" if text else "" for text in default_texts(spec))
    return f"{own}; group autoscaling.k8s.io: {upstream[0]}" if upstream else own


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write the file below the folder given, or below the working directory."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    (root / "docs" / "flags.md").write_text(render_flags(), encoding="utf-8")


if __name__ == "__main__":
    main()
