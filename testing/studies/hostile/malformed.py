"""What no well-behaved client sends, as (name, bytes, every byte that comes back, whether the server closes then).

testing/wire holds the conversations of everyday errors; here is what attackers try beside them. Each entry has a connection of
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


NO_DIGITS = bad("a request begins with its length in digits")
AFTER_MALFORMED = "a request begins with its length in digits; the request before was malformed: was its length right?"
NO_NEWLINE = bad("the length must be followed by a newline")
TOO_LONG = bad("request longer than the limit")
LINE_TOO_LONG = bad("length line too long")
NOT_XML = malformed("not UTF-8, or a character that XML does not allow")


def order(amount="1", limit="1", sym="S"):
    return framed(
        f'<transactions id="1"><order sym="{sym}" amount="{amount}" limit="{limit}"/></transactions>'
    )


def refused(sentence, amount="1", limit="1", sym="S"):
    return results(f'<error sym="{sym}" amount="{amount}" limit="{limit}">{sentence}</error>')


def amount(text, sentence="amount is not a plain decimal number"):
    return f"amount {ascii(text)}", order(amount=text), refused(sentence, amount=text), False


def limit(text, sentence="limit is not a plain decimal number"):
    return f"limit {ascii(text)}", order(limit=text), refused(sentence, limit=text), False


def account_id(text):
    request = framed(f'<create><account id="{text}" balance="1"/></create>')
    return (
        f"account id {ascii(text)}",
        request,
        results(f'<error id="{text}">account id must be 1 to 64 digits</error>'),
        False,
    )


def deep(levels):
    return framed(b"<a>" * levels + b"</a>" * levels)


ENTRIES = [
    # Lengths.
    ("a length of 20 digits", b"18446744073709551616\n", LINE_TOO_LONG, True),
    (
        "a length that wraps to 9 in 64 bits",
        b"0018446744073709551625\n<create/>",
        LINE_TOO_LONG,
        True,
    ),
    ("the largest length line", b"9999999999999999999\n", TOO_LONG, True),
    ("a negative zero", b"-0\n", NO_DIGITS, True),
    ("the least negative number", b"-9223372036854775808\n", NO_DIGITS, True),
    ("a plus sign", b"+9\n<create/>", NO_DIGITS, True),
    ("hexadecimal", b"0x9\n<create/>", NO_NEWLINE, True),
    ("an exponent", b"9e0\n<create/>", NO_NEWLINE, True),
    ("full-width digits", "９\n<create/>".encode(), NO_DIGITS, True),
    ("Arabic-Indic digits", "٩\n<create/>".encode(), NO_DIGITS, True),
    ("a superscript after a digit", "9²\n<create/>".encode(), NO_NEWLINE, True),
    ("a NUL as length", b"\0\n<create/>", NO_DIGITS, True),
    ("a NUL in the length", b"9\0\n<create/>", NO_NEWLINE, True),
    ("a byte order mark before the length", b"\xef\xbb\xbf9\n<create/>", NO_DIGITS, True),
    ("a lone carriage return", b"9\r<create/>", NO_NEWLINE, True),
    ("a form feed between frames", b"\x0c9\n<create/>", NO_DIGITS, True),
    ("TLS knocks", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", NO_DIGITS, True),
    ("HTTP knocks", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", NO_DIGITS, True),
    (
        "a length one too short",
        b"8\n<create/>",
        malformed("Error parsing start element tag") + bad(AFTER_MALFORMED),
        True,
    ),
    # Entity bombs and their like.
    (
        "a billion laughs",
        framed(
            '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><create>&b;</create>'
        ),
        malformed("document types are not accepted"),
        False,
    ),
    (
        "an external entity",
        framed('<!DOCTYPE c SYSTEM "file:///etc/passwd"><create/>'),
        malformed("document types are not accepted"),
        False,
    ),
    (
        "a parameter entity",
        framed('<!DOCTYPE c [<!ENTITY % p SYSTEM "http://127.0.0.1/">%p;]><create/>'),
        malformed("document types are not accepted"),
        False,
    ),
    (
        "nested internal subsets",
        framed("<!DOCTYPE " + "[" * 5000),
        malformed("Error parsing document type declaration"),
        False,
    ),
    (
        "a reference to a character past Unicode",
        framed('<create><account id="&#x110000;"/></create>'),
        malformed("bad reference after '&amp;'"),
        False,
    ),
    (
        "a reference whose number wraps",
        framed('<create><account id="&#4294967345;"/></create>'),
        malformed("bad reference after '&amp;'"),
        False,
    ),
    (
        "a reference to a surrogate",
        framed('<create><account id="&#xD800;"/></create>'),
        malformed("bad reference after '&amp;'"),
        False,
    ),
    (
        "a reference without an end",
        framed('<create><account id="&#49"/></create>'),
        malformed("bad reference after '&amp;'"),
        False,
    ),
    # Nesting.
    ("17 deep", deep(17), malformed("elements nested too deep"), False),
    ("140,000 deep", deep(140_000), malformed("elements nested too deep"), False),
    (
        "340,000 elements opened, none closed",
        framed(b"<a>" * 340_000),
        malformed("Start-end tags mismatch"),
        False,
    ),
    # Bytes that are no text.
    ("an overlong slash", framed(b"<create>\xc0\xaf</create>"), NOT_XML, False),
    ("an encoded surrogate", framed(b"<create>\xed\xa0\x80</create>"), NOT_XML, False),
    ("past Unicode", framed(b"<create>\xf4\x90\x80\x80</create>"), NOT_XML, False),
    ("a character cut off at the end", framed(b"<create/>\xe2\x82"), NOT_XML, False),
    ("a lone continuation byte", framed(b"<create a='\x80'/>"), NOT_XML, False),
    ("a NUL behind the document", framed(b"<create/>\0"), NOT_XML, False),
    ("a NUL in a name", framed(b"<cre\0ate/>"), NOT_XML, False),
    ("a mebibyte of NULs", framed(b"\0" * 1_048_576), NOT_XML, False),
    ("U+FFFE", framed("<create>\ufffe</create>".encode()), NOT_XML, False),
    ("an escape", framed(b"<create>\x1b[2J</create>"), NOT_XML, False),
    ("UTF-16", framed("<create/>".encode("utf-16")), NOT_XML, False),
    # Attributes.
    (
        "repeated attributes that differ",
        framed('<transactions id="1" id="2"><query id="1"/></transactions>'),
        malformed("repeated attribute"),
        False,
    ),
    (
        "a hundred attributes",
        framed("<create " + " ".join(f'a{i}="1"' for i in range(100)) + "/>"),
        malformed("too many attributes on one element"),
        False,
    ),
    (
        "an attribute of a hundred thousand bytes",
        framed('<create><account id="' + "1" * 100_000 + '" balance="1"/></create>'),
        malformed("attribute value too long"),
        False,
    ),
    # Digits that are not ours.
    account_id("１"),
    account_id("١"),
    account_id("१"),
    account_id("²"),
    account_id("Ⅷ"),
    account_id("1\u200b"),
    account_id("1" * 65),
    account_id("-1"),
    account_id("𝟏"),
    amount("１"),
    amount("١٢"),
    amount("1\u00a0000"),
    amount("1_000"),
    amount("½"),
    amount("∞"),
    amount("NaN"),
    amount("0b1"),
    amount("1e308"),
    amount("--1"),
    amount("-+1"),
    amount("−1"),
    amount("1.1.1"),
    amount("", "amount is empty"),
    amount("-"),
    amount("1f"),
    limit("１２７"),
    limit("1٫5"),
    limit("1，5"),
    limit("Infinity"),
    limit("%d"),
    limit("$1"),
    # Numbers past every edge.
    amount("0", "amount is zero"),
    amount("-0", "amount is zero"),
    amount("0.00000000", "amount is zero"),
    amount("92233720368", "amount is out of range: must be below 92233720368"),
    amount("-92233720368", "amount is out of range: must be below 92233720368"),
    amount("9223372036854775808", "amount is out of range: must be below 92233720368"),
    amount("18446744073709551617", "amount is out of range: must be below 92233720368"),
    amount(
        "340282366920938463463374607431768211457",
        "amount is out of range: must be below 92233720368",
    ),
    amount("1" + "0" * 200, "amount is out of range: must be below 92233720368"),
    amount("0." + "0" * 200 + "1", "amount has more than the allowed decimals: at most 8 decimals"),
    limit("0", "limit must be above zero"),
    limit("-1", "limit must be above zero"),
    limit("-92233720367.99999999", "limit must be above zero"),
    limit("9" * 39, "limit is out of range: must be below 92233720368"),
    (
        "the largest order there is",
        order("92233720367.99999999", "92233720367.99999999"),
        refused("insufficient funds", "92233720367.99999999", "92233720367.99999999"),
        False,
    ),
    (
        "a sale of all there could be",
        order("-92233720367.99999999"),
        refused("insufficient shares", "-92233720367.99999999"),
        False,
    ),
    (
        "an order id past 64 bits",
        framed('<transactions id="1"><query id="18446744073709551617"/></transactions>'),
        results(
            '<error id="18446744073709551617">transaction id must be a whole number from 1</error>'
        ),
        False,
    ),
    (
        "the largest order id",
        framed('<transactions id="1"><cancel id="18446744073709551615"/></transactions>'),
        results('<error id="18446744073709551615">no such order of this account</error>'),
        False,
    ),
    (
        "order id 0",
        framed('<transactions id="1"><query id="0"/></transactions>'),
        results('<error id="0">transaction id must be a whole number from 1</error>'),
        False,
    ),
    # Text that other programs would act on comes back as text.
    (
        "what a shell would run",
        framed('<create><account id="$(reboot)" balance="1"/></create>'),
        results('<error id="$(reboot)">account id must be 1 to 64 digits</error>'),
        False,
    ),
    (
        "what SQL would run",
        framed('<create><symbol sym="S\'; DROP TABLE orders; --"/></create>'),
        results(
            '<error sym="S\'; DROP TABLE orders; --">symbol must be 1 to 32 letters and digits</error>'
        ),
        False,
    ),
    (
        "what printf would read",
        framed('<transactions id="%n%s"><query id="1"/></transactions>'),
        results('<error id="1">unknown account: an account id is 1 to 64 digits</error>'),
        False,
    ),
]
