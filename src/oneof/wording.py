"""Parts of sentences in messages: enumerations."""

from collections.abc import Sequence


def enumerate_items(
    items: Sequence[str], limit: int | None = None, *, conjunction: bool = True, n_others: int = 0
) -> str:
    """Return items separated by commas, the last one after "and"; if they are too many, the number of the others.

    Parameters
    ----------
    items : sequence of str
    limit : int, optional
        Maximum number of items that are written; by default all are.
    conjunction : bool, default=True
        Whether "and" is before the last item if all are written.
    n_others : int, default=0
        Number of further items, which are only counted.

    Returns
    -------
    str

    Examples
    --------
    >>> from oneof.wording import enumerate_items
    >>> enumerate_items(["a", "b", "c"]), enumerate_items(["a", "b", "c", "d"], 2)
    ('a, b and c', 'a, b and 2 more')
    >>> enumerate_items(["a", "b", "c"], conjunction=False), enumerate_items(["a"], n_others=8)
    ('a, b, c', 'a and 8 more')
    """
    shown = list(items)
    if limit is not None and len(shown) > limit:
        shown, n_others = shown[:limit], n_others + len(shown) - limit
    if n_others > 0:
        return f"{', '.join(shown)} and {n_others:,} more"
    if not conjunction or len(shown) < 2:
        return ", ".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
