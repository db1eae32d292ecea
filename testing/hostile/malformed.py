"""What no well-behaved client sends: (name, bytes, every byte that comes back, whether the server then closes).

testing/wire holds the conversations of everyday errors; these are attempts of attackers. Each entry has a connection of
its own to a server where account 1 exists with 1000 and symbol S with 10 shares of account 2."""


def framed(body):
    body = body if isinstance(body, bytes) else body.encode()
    return b"%d\n%s" % (len(body), body)


def results(inner):
    return f"<results>{inner}</results>\n".encode()


def bad(problem):
    return results(f"<error>bad framing: {problem}</error>")


def malformed(problem):
    return results(f"<error>malformed XML: {problem}</error>")


def deep(levels):
    return framed(b"<a>" * levels + b"</a>" * levels)


def closes(reply, requests):
    return [(name, request, reply, True) for name, request in requests.items()]


def answers(reply, bodies):
    return [(name, framed(body), reply, False) for name, body in bodies.items()]


def order(name, sentence, amount="1", limit="1"):
    attributes = f'sym="S" amount="{amount}" limit="{limit}"'
    reply = results(f"<error {attributes}>{sentence}</error>")
    return answers(reply, {name: f'<transactions id="1"><order {attributes}/></transactions>'})


def amounts(sentence, *texts):
    return [e for t in texts for e in order(f"amount {ascii(t)}", f"amount {sentence}", amount=t)]


def limits(sentence, *texts):
    return [e for t in texts for e in order(f"limit {ascii(t)}", f"limit {sentence}", limit=t)]


def account_ids(*texts):
    entries = []
    for text in texts:
        reply = results(f'<error id="{text}">account id must be 1 to 64 digits</error>')
        body = f'<create><account id="{text}" balance="1"/></create>'
        entries += answers(reply, {f"account id {ascii(text)}": body})
    return entries


def order_id(name, element, text, sentence):
    reply = results(f'<error id="{text}">{sentence}</error>')
    return answers(reply, {name: f'<transactions id="1"><{element} id="{text}"/></transactions>'})


def account(id):
    return f'<create><account id="{id}"/></create>'


NO_DIGITS = "a request begins with its length in digits"
NO_NEWLINE = "the length must be followed by a newline"
NO_TEXT = "; the length is text, not a binary number"
NO_LENGTH = "; a document without a length line needs a server with --request-framing lenient"
NOT_DECIMAL = "is not a plain decimal number"
OUT_OF_RANGE = "is out of range: must be below 92233720368"
NO_ORDER_ID = "transaction id must be a whole number from 1"

ENTRIES = [
    # Lengths.
    *closes(
        bad("length line too long"),
        {
            "a length of 20 digits": b"18446744073709551616\n",
            "a length that wraps to 9 in 64 bits": b"0018446744073709551625\n<create/>",
        },
    ),
    *closes(
        bad("request longer than the limit"),
        {"the largest length line": b"9999999999999999999\n"},
    ),
    *closes(
        bad(NO_DIGITS),
        {
            "a negative zero": b"-0\n",
            "the least negative number": b"-9223372036854775808\n",
            "a plus sign": b"+9\n<create/>",
            "an HTTP request": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        },
    ),
    *closes(
        bad(NO_DIGITS + NO_TEXT),
        {
            "full-width digits": "９\n<create/>".encode(),
            "Arabic-Indic digits": "٩\n<create/>".encode(),
            "a form feed between frames": b"\x0c9\n<create/>",
            "a TLS handshake": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        },
    ),
    ("a byte order mark before the length", b"\xef\xbb\xbf9\n<create/>", results(""), False),
    *closes(bad(NO_DIGITS + NO_LENGTH), {"a NUL as length": b"\0\n<create/>"}),
    *closes(bad(NO_NEWLINE + NO_TEXT), {"a NUL in the length": b"9\0\n<create/>"}),
    *closes(
        bad(NO_NEWLINE),
        {
            "hexadecimal": b"0x9\n<create/>",
            "an exponent": b"9e0\n<create/>",
            "a superscript after a digit": "9²\n<create/>".encode(),
            "a lone carriage return": b"9\r<create/>",
        },
    ),
    *closes(
        malformed("Error parsing start element tag")
        + bad(f"{NO_DIGITS}; the request before was malformed: was its length right?"),
        {"a length one too short": b"8\n<create/>"},
    ),
    # Entity bombs and their like.
    *answers(
        malformed("document types are not accepted"),
        {
            "a billion laughs": '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><create>&b;</create>',
            "an external entity": '<!DOCTYPE c SYSTEM "file:///etc/passwd"><create/>',
            "a parameter entity": '<!DOCTYPE c [<!ENTITY % p SYSTEM "http://127.0.0.1/">%p;]><create/>',
        },
    ),
    *answers(
        malformed("Error parsing document type declaration"),
        {"nested internal subsets": "<!DOCTYPE " + "[" * 5000},
    ),
    *answers(
        malformed("bad reference after '&amp;'"),
        {
            "a reference to a character past Unicode": account("&#x110000;"),
            "a reference whose number wraps": account("&#4294967345;"),
            "a reference to a surrogate": account("&#xD800;"),
            "a reference without an end": account("&#49"),
        },
    ),
    # Nesting.
    ("17 deep", deep(17), malformed("elements nested too deep"), False),
    ("140,000 deep", deep(140_000), malformed("elements nested too deep"), False),
    *answers(
        malformed("Start-end tags mismatch"),
        {"340,000 elements opened, none closed": b"<a>" * 340_000},
    ),
    # Bytes that are no text.
    *answers(
        malformed("not UTF-8, or a character that XML does not allow"),
        {
            "an overlong slash": b"<create>\xc0\xaf</create>",
            "an encoded surrogate": b"<create>\xed\xa0\x80</create>",
            "past Unicode": b"<create>\xf4\x90\x80\x80</create>",
            "a character cut off at the end": b"<create/>\xe2\x82",
            "a lone continuation byte": b"<create a='\x80'/>",
            "a NUL behind the document": b"<create/>\0",
            "a NUL in a name": b"<cre\0ate/>",
            "a mebibyte of NULs": b"\0" * 1_048_576,
            "U+FFFE": "<create>\ufffe</create>",
            "an escape": b"<create>\x1b[2J</create>",
            "UTF-16": "<create/>".encode("utf-16"),
        },
    ),
    # Attributes.
    *answers(
        malformed("repeated attribute"),
        {
            "repeated attributes that differ": '<transactions id="1" id="2"><query id="1"/></transactions>'
        },
    ),
    *answers(
        malformed("too many attributes on one element"),
        {"a hundred attributes": "<create " + " ".join(f'a{i}="1"' for i in range(100)) + "/>"},
    ),
    *answers(
        malformed("attribute value too long"),
        {
            "an attribute of a hundred thousand bytes": f'<create><account id="{"1" * 100_000}" balance="1"/></create>'
        },
    ),
    # Digits that are not ours.
    *account_ids("１", "١", "१", "²", "Ⅷ", "1\u200b", "1" * 65, "-1", "𝟏"),
    *amounts(NOT_DECIMAL, "１", "١٢", "1\u00a0000", "1_000", "½", "∞", "NaN", "0b1", "1e308"),
    *amounts(NOT_DECIMAL, "--1", "-+1", "−1", "1.1.1", "-", "1f"),
    *amounts("is empty", ""),
    *limits(NOT_DECIMAL, "１２７", "1٫5", "1，5", "Infinity", "%d", "$1"),
    # Numbers past every edge.
    *amounts("is zero", "0", "-0", "0.00000000"),
    *amounts(OUT_OF_RANGE, "92233720368", "-92233720368", "9223372036854775808"),
    *amounts(OUT_OF_RANGE, "18446744073709551617", "340282366920938463463374607431768211457"),
    *amounts(OUT_OF_RANGE, "1" + "0" * 200),
    *amounts("has more than the allowed decimals: at most 8 decimals", "0." + "0" * 200 + "1"),
    *limits("must be above zero", "0", "-1", "-92233720367.99999999"),
    *limits(OUT_OF_RANGE, "9" * 39),
    *order(
        "the largest order there is",
        "insufficient funds",
        "92233720367.99999999",
        "92233720367.99999999",
    ),
    *order("a sale of all there could be", "insufficient shares", "-92233720367.99999999"),
    *order_id("an order id past 64 bits", "query", "18446744073709551617", NO_ORDER_ID),
    *order_id(
        "the largest order id", "cancel", "18446744073709551615", "no such order of this account"
    ),
    *order_id("order id 0", "query", "0", NO_ORDER_ID),
    # Text that other programs would act on comes back as text.
    *account_ids("$(reboot)"),
    *answers(
        results(
            '<error sym="S\'; DROP TABLE orders; --">symbol must be 1 to 32 letters and digits</error>'
        ),
        {"what SQL would run": '<create><symbol sym="S\'; DROP TABLE orders; --"/></create>'},
    ),
    *answers(
        results('<error id="1">unknown account: an account id is 1 to 64 digits</error>'),
        {"what printf would read": '<transactions id="%n%s"><query id="1"/></transactions>'},
    ),
]
