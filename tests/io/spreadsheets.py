"""Minimal spreadsheets for tests, written without a library."""

import datetime
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_NAMESPACES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
)


def write_xlsx(path: Path, **sheets: Sequence[Sequence[Any]]) -> Path:
    """Write sheets as the minimal files of an .xlsx archive."""
    names = list(sheets)
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    with zipfile.ZipFile(path, "w") as archive:
        listed = "".join(f'<sheet name="{name}" sheetId="{i}" r:id="r{i}"/>' for i, name in enumerate(names, 1))
        archive.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{relation}"><sheets>{listed}</sheets></workbook>'
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{relation}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        targets = "".join(
            f'<Relationship Id="r{i}" Type="{relation}/worksheet" Target="worksheets/s{i}.xml"/>'
            for i in range(1, len(names) + 1)
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{package}/relationships">{targets}</Relationships>'
        )
        archive.writestr(
            "xl/styles.xml",
            f'<styleSheet xmlns="{main}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
            "</styleSheet>",
        )
        for i, rows in enumerate(sheets.values(), 1):
            lines = [
                f'<row r="{r}">'
                + "".join(_xlsx_cell(f"{chr(65 + c)}{r}", cell) for c, cell in enumerate(row))
                + "</row>"
                for r, row in enumerate(rows, 1)
            ]
            content = f'<worksheet xmlns="{main}"><sheetData>{"".join(lines)}</sheetData></worksheet>'
            archive.writestr(f"xl/worksheets/s{i}.xml", content)
    return path


def _xlsx_cell(place: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{value:d}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value!r}</v></c>'
    if isinstance(value, datetime.date):
        return f'<c r="{place}" s="1"><v>{(value - datetime.date(1899, 12, 30)).days}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t>{_escape(value)}</t></is></c>'


def write_ods(path: Path, **sheets: Sequence[Sequence[Any]]) -> Path:
    """Write sheets as the minimal files of an .ods archive."""
    tables = "".join(
        f'<table:table table:name="{name}">'
        + "".join(f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in rows)
        + "</table:table>"
        for name, rows in sheets.items()
    )
    body = f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )
        archive.writestr("content.xml", f"<office:document-content {_NAMESPACES}>{body}</office:document-content>")
    return path


def _ods_cell(value: Any) -> str:
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, bool):
        kind, text = f'office:value-type="boolean" office:boolean-value="{str(value).lower()}"', str(value).upper()
    elif isinstance(value, int | float):
        kind, text = f'office:value-type="float" office:value="{value!r}"', repr(value)
    elif isinstance(value, datetime.date):
        kind, text = f'office:value-type="date" office:date-value="{value}"', str(value)
    else:
        kind, text = 'office:value-type="string"', _escape(value)
    lines = "".join(f"<text:p>{line}</text:p>" for line in text.split("\n"))
    return f"<table:table-cell {kind}>{lines}</table:table-cell>"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


WRITERS = {".xlsx": write_xlsx, ".ods": write_ods}
