"""Notations of numbers and dates in text: ``1.234,56 EUR``, ``12 %``, ``03/15/2021``, ``15 Mar 2021``.

The notation of a column is learned from all of its training rows, because one text often has several readings. It is a
short string that a model keeps, so that later rows are read in the same way:

- ``""`` is the plain notation: numbers as Python writes them, and dates as in ISO 8601.
- ``"1,234.56"`` and ``"1.234,56"`` say which mark begins the decimals; ``"1234"`` says that no row has shown it. The
  thousands may have any other separator, or none. A currency or ``%`` follows after a blank.
- ``"D/M/Y"`` and other orders and separators are dates, with or without a time; ``y`` is a year of two digits.
  ``"D Mon Y"`` stands for dates with the English name of the month.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, NamedTuple

from .._rounding import float_of

LONGEST = 64  # number or date, in characters
LEAST_GROUPED = 3  # different numbers such as 1.200, for a warning
LEAST_ALIKE, MOST_ODD = 10, 0.1  # different texts that look like numbers or dates; share of others: for a warning

_CODES = (  # of currencies
    "AED|ARS|AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EGP|EUR|GBP|HKD|HUF|IDR|ILS|INR|ISK|JPY|KRW|MXN|MYR|NGN|NOK|NZD"
    "|PEN|PHP|PKR|PLN|RON|RSD|RUB|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR"
)
_UNIT = rf"(?:[A-Z]{{0,2}}[$€£¥₹₽₩₪₺₴₦₫₱฿₡₲₵₸]|{_CODES}|%)"
_DRESSED = re.compile(
    rf"(?P<open>\()? ?(?P<sign>[+-])? ?(?P<before>{_UNIT})? ?(?P<inner>[+-])?(?P<core>[\d.,][\d.,' ]*(?:[eE][+-]?\d+)?)"
    rf" ?(?P<after>{_UNIT})? ?(?P<close>\))?",
    re.ASCII,
)
_EVEN = str.maketrans("\u00a0\u202f\u2009\u2007\u2019\u2212", "    '-")  # blanks, apostrophes and minus signs
_WITH_UNIT = re.compile(r"[+-]?[\d.,]*\d *([^\W\d_]{1,10}(?:[/²³][^\W\d_]{0,5})?)")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+", re.ASCII)
_TENS = r"(?:[eE][+-]?\d+)?"
_MARKS = {
    ".": re.compile(
        rf"(?:\d+|[1-9]\d{{0,2}}(?:([,' ])\d{{3}})(?:\1\d{{3}})*|[1-9]\d?(?:,\d\d)+,\d{{3}})(?:\.\d+)?{_TENS}"
        rf"|\.\d+{_TENS}",
        re.ASCII,
    ),
    ",": re.compile(rf"(?:\d+|[1-9]\d{{0,2}}(?:([.' ])\d{{3}})(?:\1\d{{3}})*)(?:,\d+)?{_TENS}|,\d+{_TENS}", re.ASCII),
}
_STYLES = {"1,234.56": ".", "1.234,56": ",", "1234": ""}
_STYLE_OF = {mark: style for style, mark in _STYLES.items()}

_TIME = (
    r"(?:(?:T|,? +)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"(?: *(?P<half>[AaPp])\.?[Mm]\.?)?(?: *(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2}))?)?"
)
_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})" + _TIME.replace("1,2", "2") + "(?<!Z)Z?", re.ASCII)
_NUMBERED = re.compile(r"(\d{1,4})(?P<mark>[/.-])(\d{1,2})(?P=mark)(\d{1,4})" + _TIME, re.ASCII)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_NAMED = [
    re.compile(r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? +)?" + pattern + _TIME, re.ASCII | re.IGNORECASE)
    for pattern in (
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?[ -]*{_MONTH}[ ,-]*(?P<year>\d{{4}}|(?<=[ -])\d{{2}})",
        rf"{_MONTH}[ -]*(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[ ,-]+(?P<year>\d{{4}})",
    )
]
NAMED = "D Mon Y"
_ORDERS = {mark.join(parts): (mark, parts) for mark in "/.-" for parts in ("DMY", "MDY", "YMD", "DMy", "MDy", "yMD")}


class Reading(NamedTuple):
    """How texts are read: the kind of the values, their notation, and what to tell about it.

    ``note`` is for the treatment of the column, ``doubt`` for a warning. Without a kind, texts are categories.
    """

    is_date: bool | None
    notation: str = ""
    note: str = ""
    doubt: str = ""


def check_notation(notation: str, is_date: bool) -> bool:
    """Return whether a notation is one of numbers, or of dates."""
    if is_date:
        return notation in _ORDERS or notation in ("", NAMED)
    style, _, unit = notation.partition(" ")
    return notation == "" or (style in _STYLES and (unit == "" or re.fullmatch(_UNIT, unit) is not None))


def reader_of(notation: str, is_date: bool) -> Callable[[str], Any]:
    """Return a function that reads a stripped text as a number or a date, and returns None if it is none."""
    if is_date:
        if notation == NAMED:
            return _named_date
        return (lambda text: _numbered_date(text, *_ORDERS[notation])) if notation else _iso_date
    if not notation:
        return float_of
    style, _, unit = notation.partition(" ")
    mark = _STYLES[style]

    def number(text: str) -> float | None:
        found = _undressed(text)
        if found is None or (found.unit != unit and (found.unit or unit == "%")):
            return None
        return found.value(mark)

    return number


def find_reading(texts: Sequence[str]) -> Reading:
    """Find how all of some different texts, which are neither plain numbers nor missing, can be read.

    A reading without doubt is the only one that makes sense, and other texts are better left as they are.
    """
    if all(map(_iso_date, texts)):
        return Reading(True)
    return _dates(texts) or _numbers(texts) or _odd(texts)


class _Number(NamedTuple):
    sign: int
    core: str
    unit: str
    in_parentheses: bool

    def value(self, mark: str) -> float | None:
        """Return the number with a decimal mark. Where no row has shown one, 1,234 and 1.234 have thousands."""
        if mark:
            if not _MARKS[mark].fullmatch(self.core):
                return None
            others = {",": ".", ".": ","}[mark] + "' "
            return self.sign * float(self.core.translate(str.maketrans(mark, ".", others)))
        both = [value for mark in _MARKS if (value := self.value(mark)) is not None]
        return max(both, key=abs, default=None)

    @property
    def is_bare(self) -> bool:
        return self.core.isdigit()


def _undressed(text: str) -> _Number | None:
    """Return the parts of a number with a currency, a percent sign or parentheses, if it has the form of one."""
    if len(text) > LONGEST:
        return None
    found = _DRESSED.fullmatch(text.translate(_EVEN))
    if found is None or (found["open"] is None) != (found["close"] is None):
        return None
    before, after = found["before"] or "", found["after"] or ""
    if (before and after and before != after) or (found["sign"] and found["inner"]):
        return None
    if found["open"] and (found["sign"] or found["inner"]):
        return None
    minus = found["open"] or "-" in (found["sign"] or "", found["inner"] or "")
    return _Number(-1 if minus else 1, found["core"].rstrip(" "), before or after, bool(found["open"]))


def _numbers(texts: Sequence[str]) -> Reading | None:
    parsed = []
    for text in texts:
        found = _undressed(text)
        if found is None or all(found.value(mark) is None for mark in _MARKS):
            return None
        parsed.append(found)
    if all(number.in_parentheses for number in parsed):  # names such as (1), not losses
        return None
    example, units = texts[0], {number.unit for number in parsed}
    named = units - {""}
    if len(named) > 1 or ("%" in named and "" in units):
        listed = ", ".join(map(repr, sorted(named)[:5])) + (" and no unit" if "" in units else "")
        return _doubt(f"numbers with different units ({listed})", example, "convert them to one unit")
    fits = [mark for mark in _MARKS if all(number.value(mark) is not None for number in parsed)]
    if not fits:
        return _doubt("numbers, some with decimal points and others with decimal commas", example, "write all alike")
    mark, doubt = fits[0], ""
    if len(fits) == 2:
        mark = ""
        if any(number.value(".") != number.value(",") for number in parsed):
            thousands = "," if any("," in number.core for number in parsed) else "."
            mark = {",": ".", ".": ","}[thousands]
            bare = [float(number.core) for number in parsed if number.is_bare]
            both = thousands == "," and any("." in number.core for number in parsed)
            if both or max(bare, default=0) >= 1000:
                return _doubt("numbers whose points or commas may begin decimals or thousands", example, "convert them")
            if not bare:
                doubt = (
                    f"looks like numbers, for example {example!r}, where {thousands!r} may begin the thousands or the "
                    "decimals: it is read as thousands. Pass numbers if this is wrong."
                )
    (unit,) = named or {""}
    return Reading(False, f"{_STYLE_OF[mark]} {unit}".strip(), _number_note(parsed, mark, unit), doubt)


def _number_note(parsed: Sequence[_Number], mark: str, unit: str) -> str:
    what = "percentages" if unit == "%" else f"amounts in {unit}" if unit else "numbers"
    grouped = any(re.search(rf"[' {'.' if mark == ',' else ','}]", number.core) for number in parsed)
    details = []
    if mark == "," and any("," in number.core for number in parsed):
        details.append("decimal commas")
    if grouped:
        details.append("separated thousands")
    return f"{what}{' with ' + ' and '.join(details) if details else ''}, stored as text"


def _dates(texts: Sequence[str]) -> Reading | None:
    if all(_named_date(text) is not None for text in texts):
        return Reading(True, NAMED, "dates with names of months, stored as text")
    if not all(map(_NUMBERED.fullmatch, texts)):
        return None
    fits = [n for n, order in _ORDERS.items() if all(_numbered_date(text, *order) is not None for text in texts)]
    if not fits:
        return None
    fits = [order for order in fits if not order.startswith("y")] or fits  # nobody writes the last two digits first
    if fits[0].startswith("D.M"):  # with points, the day comes first
        fits = fits[:1]
    if len(fits) > 1:
        return _doubt(
            f"dates whose order may be {' or '.join(fits)}", texts[0], "convert it to dates, or write 2021-12-31"
        )
    return Reading(True, fits[0], f"dates as {fits[0]}, stored as text")


def _numbered_date(text: str, mark: str, parts: Sequence[str]) -> datetime | None:
    found = _NUMBERED.fullmatch(text)
    if found is None or found["mark"] != mark:
        return None
    named = dict(zip(parts, (found[1], found[3], found[4]), strict=True))
    year = named.get("Y", named.get("y", ""))
    if len(year) != (4 if "Y" in named else 2) or max(len(named["D"]), len(named["M"])) > 2:
        return None
    return _date(found, year, named["M"], named["D"])


def _named_date(text: str) -> datetime | None:
    for pattern in _NAMED:
        if (found := pattern.fullmatch(text)) is not None:
            return _date(found, found["year"], str(_MONTHS.index(found["month"][:3].lower()) + 1), found["day"])
    return None


def _iso_date(text: str) -> datetime | None:
    found = _ISO.fullmatch(text)
    return None if found is None else _date(found, found[1], found[2], found[3])


def _date(found: re.Match[str], year: str, month: str, day: str) -> datetime | None:
    """Return a date with the time that was found beside it, in universal time if it has a zone."""
    full = int(year) if len(year) == 4 else int(year) + (1900 if int(year) >= 69 else 2000)
    hour = int(found["hour"] or 0)
    if found["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found["half"] in "pP" else 0)
    micro = int((found["fraction"] or "0").ljust(6, "0")[:6])
    zone = found["zone"]
    try:
        date = datetime(full, int(month), int(day), hour, int(found["minute"] or 0), int(found["second"] or 0), micro)
        if zone is None or zone[0] not in "+-":
            return date
        away = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:])) * (-1 if zone[0] == "-" else 1)
        return date.replace(tzinfo=timezone(away)).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def _odd(texts: Sequence[str]) -> Reading:
    """Return categories, with a doubt if nearly all texts look like numbers or dates."""
    for what, looks in _LOOKS.items():
        odd, most = [], int(MOST_ODD * len(texts))
        for text in texts:
            if not looks(text):
                odd.append(text)
                if len(odd) > most:
                    break
        else:
            if len(texts) - len(odd) >= LEAST_ALIKE:
                example = next(text for text in texts if text not in odd)
                advice = f"correct others such as {odd[0][:40]!r}, or make them missing" if odd else "write all alike"
                return _doubt(what, example, advice)
    if len(texts) >= LEAST_ALIKE and (first := _WITH_UNIT.fullmatch(texts[0][:LONGEST])):
        unit = first[1]
        if all(text.endswith(unit) and _WITH_UNIT.fullmatch(text[:LONGEST]) for text in texts):
            return _doubt(f"numbers with the unit {unit!r}", texts[0], "remove the unit")
    return Reading(None)


def _looks_like_a_number(text: str) -> bool:
    found = _undressed(text)
    return found is not None and any(found.value(mark) is not None for mark in _MARKS)


def _looks_like_a_date(text: str) -> bool:
    return _NUMBERED.fullmatch(text) is not None or _iso_date(text) is not None or _named_date(text) is not None


_LOOKS = {"numbers": _looks_like_a_number, "dates": _looks_like_a_date}


def _doubt(what: str, example: str, advice: str) -> Reading:
    looks = f"looks like {what}"
    return Reading(
        None, "", looks, f"{looks}, for example {example[:40]!r}, and is read as categories: to use it, {advice}."
    )


def looks_grouped(texts: Iterable[str]) -> bool:
    """Return whether the points of plain numbers look like separators of thousands: 950, 1.200, 12.500."""
    bare, grouped = False, set()
    for text in texts:
        if _GROUPED.fullmatch(text):
            grouped.add(text)
        elif text.isdigit() and len(text) <= 3:
            bare = True
        else:
            return False
    return bare and len(grouped) >= LEAST_GROUPED
