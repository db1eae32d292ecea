"""Makes the SVG that matplotlib writes a fraction of its size. What a reader sees stays the same."""

import re
from itertools import groupby
from xml.etree import ElementTree

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
GROUP, HREF = f"{{{SVG}}}g", f"{{{XLINK}}}href"
COORDINATES = ("d", "x", "y", "width", "height", "transform")  # attributes in points


def compact(text):
    """Rounds coordinates to a tenth of a point, writes styles that neighbours share once, and removes metadata, white
    space and unused ids."""
    root = ElementTree.fromstring(text)
    for metadata in root.findall(f"{{{SVG}}}metadata"):
        root.remove(metadata)
    for style in root.findall(
        f"{{{SVG}}}defs[{{{SVG}}}style]"
    ):  # a rule for * would override what a group says
        root.remove(style)
    root.set("stroke-linejoin", "round")
    used = re.findall(r'(?:href="#|url\(#)([^")]+)', text)
    names = {name: f"i{i}" for i, name in enumerate(dict.fromkeys(used))}
    for element in root.iter():
        shorten(element, names)
    merge_groups(root)
    share_styles(root)
    merge_groups(root)
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    return (
        ElementTree.tostring(root, encoding="unicode").replace(" />", "/>").replace("><", ">\n<")
        + "\n"
    )


def shorten(element, names):
    attributes = element.attrib
    if attributes.get("id") not in names:
        attributes.pop("id", None)
    for name, value in attributes.items():
        if name == "id":
            attributes[name] = names[value]
        elif name == HREF:
            attributes[name] = "#" + names[value[1:]]
        elif name == "clip-path":
            attributes[name] = f"url(#{names[value[5:-1]]})"
        elif name in COORDINATES:
            attributes[name] = coordinates(value, path=name == "d")
        elif name == "style":
            attributes[name] = re.sub(r"([:;,]) +", r"\1", value)
    if attributes.get("transform", "").startswith("rotate(0 "):
        del attributes["transform"]
    if element.text and not element.text.strip():
        element.text = None
    element.tail = None


def coordinates(value, path):
    value = re.sub(
        r"-?\d+\.\d+",
        lambda number: f"{float(number[0]):.1f}".removesuffix(".0"),
        " ".join(value.split()),
    )
    value = re.sub(r"-0(?![.\d])", "0", value)
    if path:  # L 1 2 L 3 4 is L1 2 3 4
        value = re.sub(
            r"L [-\d. ]+(?:L [-\d. ]+)+", lambda lines: "L " + lines[0].replace("L ", ""), value
        )
        value = re.sub(r" ?([A-Za-z]) ?", r"\1", value)
    return value


def merge_groups(element):
    """Dissolves groups without attributes, and joins neighbours with the same ones."""
    children = []
    for child in element:
        merge_groups(child)
        if child.tag == GROUP and not child.attrib:
            children += child
        elif (
            child.tag == GROUP
            and children
            and children[-1].tag == GROUP
            and children[-1].attrib == child.attrib
        ):
            children[-1].extend(child)
        else:
            children.append(child)
    element[:] = children


def share_styles(element):
    """Moves the style and clip path of a run of neighbours to a group around them."""

    def shared(child):
        style = child.get("style", "")
        if re.search(r"(^|;)opacity:", style) or "transform" in child.attrib:
            return None  # they mean something else on a group
        return (
            tuple((name, child.get(name)) for name in ("style", "clip-path") if child.get(name))
            or None
        )

    children = []
    for child in element:
        share_styles(child)
    for attributes, run in groupby(element, shared):
        run = list(run)
        if attributes and len(run) > 1:
            group = ElementTree.Element(GROUP, dict(attributes))
            for child in run:
                for name, _ in attributes:
                    del child.attrib[name]
            group.extend(run)
            run = [group]
        children += run
    element[:] = children
