"""What frames and their labels are made with; private to the package."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

from ._refrain import Error


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as problem:
        raise Error("frames need pandas, which is not installed (Debian: python3-pandas)") from problem
    return pandas


def _path_texts(paths: Sequence[Tuple[Optional[int], str, str]]) -> List[str]:
    """ "main > solve > MPI_Recv (solve.c:12)"; a parent stands before its children. """
    texts: List[str] = []
    for parent, name, site in paths:
        own = f"{name} ({site})" if site else name
        texts.append(own if parent is None else f"{texts[parent]} > {own}")
    return texts
