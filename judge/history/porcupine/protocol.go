package main

import (
	"encoding/xml"
	"strings"
)

// element is any XML element: requests and replies of the protocol are all of the same shape.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func (e element) name() string { return e.XMLName.Local }

func (e element) attr(name string) (string, bool) {
	for _, attr := range e.Attrs {
		if attr.Name.Local == name {
			return attr.Value, true
		}
	}
	return "", false
}

func (e element) value(name string) string {
	value, _ := e.attr(name)
	return value
}

// has says whether the element repeats each of these attributes as the other has it, or lacks it too.
func (e element) repeats(other element, names ...string) bool {
	for _, name := range names {
		mine, here := e.attr(name)
		others, there := other.attr(name)
		if here != there || mine != others {
			return false
		}
	}
	return true
}

func parseXML(text string) (element, error) {
	var root element
	decoder := xml.NewDecoder(strings.NewReader(text))
	err := decoder.Decode(&root)
	return root, err
}
