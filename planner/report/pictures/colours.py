"""Colours of pictures: chosen to carry dark text on a light page and on a dark one."""

QUALITATIVE = (
    "#6aa9ff",
    "#ff9f5a",
    "#5fd08b",
    "#ff7f9e",
    "#b79cff",
    "#f2d04b",
    "#4fd0d8",
    "#d8a47f",
    "#9ccf4a",
    "#e58be0",
    "#9fb3c8",
    "#ffb3a7",
)
_ANCHORS = ("#5b8def", "#4fc3d9", "#5fd08b", "#d9dc5a", "#ffb04f", "#ff7f6e", "#d77bd8")

STYLE = """
.page{fill:#ffffff}.ink{fill:#1b2330}.faint{fill:#5b6676}
.box{fill:#f3f5f8;stroke:#c3cad4}.box.outer{fill:#fafbfc;stroke:#aab3c0}
.idle{fill:none;stroke:#aab3c0;stroke-dasharray:2 2}.offline{fill:url(#hatch);stroke:#8a94a3}
.hatch{stroke:#8a94a3}.tag{fill:#10131a;font-size:9px;text-anchor:middle;pointer-events:none}
.link{fill:none;stroke:#d92b3a;stroke-opacity:.55;stroke-linecap:round;pointer-events:none}
.moved{stroke:#1b2330;stroke-width:2}
text{font-family:ui-sans-serif,system-ui,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
@media (prefers-color-scheme:dark){
.page{fill:#14171f}.ink{fill:#e8ecf2}.faint{fill:#9aa6b6}
.box{fill:#1e2430;stroke:#3a4454}.box.outer{fill:#191e28;stroke:#4a5668}
.idle{stroke:#56637a}.offline,.hatch{stroke:#6c788c}
.link{stroke:#ff6b76}.moved{stroke:#ffffff}
}
"""
"""The style sheet of a picture, without the colours of its categories."""


def scale(count: int, *, ordered: bool) -> list[str]:
    """Colours of `count` categories; where there are fewer, they start again.

    Few categories, and those without an order, take distinct colours; many ordered ones a scale
    from blue over green and yellow to violet.

    Example:
        >>> scale(2, ordered=True)
        ['#6aa9ff', '#ff9f5a']
        >>> scale(100, ordered=True)[-1]
        '#d77bd8'
    """
    if count <= len(QUALITATIVE) or not ordered:
        return list(QUALITATIVE[:count])
    return [_between(i / (count - 1)) for i in range(count)]


def _between(share: float) -> str:
    position = share * (len(_ANCHORS) - 1)
    i = min(int(position), len(_ANCHORS) - 2)
    mixed = (
        round(int(a, 16) + (int(b, 16) - int(a, 16)) * (position - i))
        for a, b in zip(_channels(_ANCHORS[i]), _channels(_ANCHORS[i + 1]), strict=True)
    )
    return "#" + "".join(f"{value:02x}" for value in mixed)


def _channels(colour: str) -> tuple[str, str, str]:
    return colour[1:3], colour[3:5], colour[5:7]
