"""What the HTML pages of the library share: the style sheet, and templates that escape what they are given."""

from typing import TYPE_CHECKING

from oneof.errors import MissingExtraError

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(package: str) -> "Environment":
    """Return an environment for the templates of a package, which may include ``page.css``.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.
    """
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtraError("jinja2", "cli") from error
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("oneof.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
