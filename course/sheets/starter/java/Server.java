// A server of the exchange protocol to begin with: java Server PORT
//
// It reads requests, parses and checks them, and answers each element. It creates accounts, and
// accepts orders without looking at what the account has. Your work begins at each TODO.

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.math.BigDecimal;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.xml.sax.SAXException;

public final class Server {
  static final int FRAME_BYTES_MAX = 1_048_576;
  static final Pattern NUMBER = Pattern.compile("-?([0-9]+\\.?[0-9]*|\\.[0-9]+)");
  static final Pattern ACCOUNT_ID = Pattern.compile("[0-9]{1,64}");
  static final Pattern SYMBOL = Pattern.compile("[A-Za-z0-9]{1,32}");

  /** Becomes an {@code <error>}: the message is for people. */
  static final class Refused extends Exception {
    Refused(String why) {
      super(why, null, false, false);
    }
  }

  /** A plain decimal number, exactly. BigDecimal alone would also take "1e3". */
  static BigDecimal number(String text) throws Refused {
    if (!NUMBER.matcher(text).matches()) throw new Refused("not a number");
    return new BigDecimal(text);
  }

  static void checkSymbol(String symbol) throws Refused {
    if (!SYMBOL.matcher(symbol).matches()) throw new Refused("a symbol has letters and digits");
  }

  /** All state. The caller holds its lock. */
  static final class Exchange {
    private final Map<String, BigDecimal> cash = new HashMap<>(); // by account
    private long orders = 0; // ids given so far

    boolean knows(String account) {
      return cash.containsKey(account);
    }

    void createAccount(String account, String balance) throws Refused {
      if (!ACCOUNT_ID.matcher(account).matches())
        throw new Refused("an account id has 1 to 64 digits");
      BigDecimal number = number(balance);
      if (number.signum() < 0) throw new Refused("the balance is negative");
      if (cash.putIfAbsent(account, number) != null)
        throw new Refused("the account exists already");
    }

    void placeShares(String symbol, String account, String shares) throws Refused {
      checkSymbol(symbol);
      if (number(shares.strip()).signum() < 0)
        throw new Refused("the number of shares is negative");
      if (!knows(account)) throw new Refused("no such account");
      // TODO (C9): the account gets these shares.
    }

    /** Returns the id. */
    String order(String account, Element asked) throws Refused {
      checkSymbol(asked.getAttribute("sym"));
      BigDecimal amount = number(asked.getAttribute("amount"));
      BigDecimal limit = number(asked.getAttribute("limit"));
      if (amount.signum() == 0) throw new Refused("the amount is zero");
      if (limit.signum() <= 0) throw new Refused("the limit must be above zero");
      // TODO (M1 to M9): check what the account has, reserve, match, rest.
      return Long.toString(++orders);
    }

    // These return what is inside <status>, or <canceled>.

    String query(String account, String order) throws Refused {
      throw new Refused("no such order"); // TODO (T9)
    }

    String cancel(String account, String order) throws Refused {
      throw new Refused("no such order"); // TODO (T10, M10)
    }
  }

  static String escaped(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }

  static List<Element> children(Element parent) {
    List<Element> elements = new ArrayList<>();
    for (Node node = parent.getFirstChild(); node != null; node = node.getNextSibling())
      if (node instanceof Element element) elements.add(element);
    return elements;
  }

  /** {@code  name="value"} for each of these that the client gave. */
  static String repeated(Element asked, String... names) {
    StringBuilder out = new StringBuilder();
    for (String name : names)
      if (asked.hasAttribute(name))
        out.append(' ').append(name).append("=\"").append(escaped(asked.getAttribute(name)))
            .append('"');
    return out.toString();
  }

  static String error(String attributes, String why) {
    return "<error" + attributes + ">" + escaped(why) + "</error>";
  }

  interface Command {
    void execute() throws Refused;
  }

  static String created(String attributes, Command command) {
    try {
      command.execute();
      return "<created" + attributes + "/>";
    } catch (Refused refused) {
      return error(attributes, refused.getMessage());
    }
  }

  static String create(Exchange exchange, Element root) {
    StringBuilder reply = new StringBuilder();
    for (Element child : children(root)) {
      String id = child.getAttribute("id"), symbol = child.getAttribute("sym");
      switch (child.getTagName()) {
        case "account" -> reply.append(
            created(
                repeated(child, "id"),
                () -> exchange.createAccount(id, child.getAttribute("balance"))));
        case "symbol" -> {
          List<Element> placements = children(child);
          if (placements.isEmpty())
            reply.append(created(repeated(child, "sym"), () -> checkSymbol(symbol)));
          for (Element placed : placements)
            reply.append(
                created(
                    repeated(child, "sym") + repeated(placed, "id"),
                    () ->
                        exchange.placeShares(
                            symbol, placed.getAttribute("id"), placed.getTextContent())));
        }
        default -> reply.append(error("", "unknown element"));
      }
    }
    return reply.toString();
  }

  static String transact(Exchange exchange, Element root) {
    String account = root.getAttribute(root.hasAttribute("id") ? "id" : "account");
    StringBuilder reply = new StringBuilder();
    for (Element child : children(root)) {
      String name = child.getTagName(), id = child.getAttribute("id");
      String attributes =
          name.equals("order") ? repeated(child, "sym", "amount", "limit") : repeated(child, "id");
      try {
        if (!exchange.knows(account)) throw new Refused("no such account");
        reply.append(
            switch (name) {
              case "order" -> "<opened" + attributes + " id=\"" + exchange.order(account, child)
                  + "\"/>";
              case "query" -> "<status" + attributes + ">" + exchange.query(account, id)
                  + "</status>";
              case "cancel" -> "<canceled" + attributes + ">" + exchange.cancel(account, id)
                  + "</canceled>";
              default -> error("", "unknown element");
            });
      } catch (Refused refused) {
        reply.append(error(attributes, refused.getMessage()));
      }
    }
    return reply.toString();
  }

  /** A parser of one thread. */
  static DocumentBuilder newParser() throws ParserConfigurationException {
    DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
    factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
    DocumentBuilder parser = factory.newDocumentBuilder();
    parser.setErrorHandler(null); // prints nothing
    return parser;
  }

  static String replyTo(Exchange exchange, DocumentBuilder parser, byte[] document)
      throws IOException {
    String inside;
    try {
      Element root = parser.parse(new ByteArrayInputStream(document)).getDocumentElement();
      synchronized (exchange) { // T17: one request after another
        inside =
            switch (root.getTagName()) {
              case "create" -> create(exchange, root);
              case "transactions" -> transact(exchange, root);
              default -> error("", "unknown element");
            };
      }
    } catch (SAXException | java.io.CharConversionException malformed) {
      inside = error("", "malformed XML");
    }
    return "<results>" + inside + "</results>\n";
  }

  static final class BadFraming extends Exception {}

  /** The next document; null at the end of the stream. */
  static byte[] readRequest(InputStream in) throws IOException, BadFraming {
    StringBuilder line = new StringBuilder();
    int next;
    while ((next = in.read()) != '\n') {
      if (next < 0 && line.length() == 0) return null;
      if (next < 0 || line.length() > 20) throw new BadFraming();
      line.append((char) next);
    }
    String digits = line.toString().replaceFirst("\r$", "");
    if (!digits.matches("[0-9]{1,18}")) throw new BadFraming();
    long bytes = Long.parseLong(digits);
    if (bytes < 1 || bytes > FRAME_BYTES_MAX) throw new BadFraming();
    byte[] document = in.readNBytes((int) bytes); // waits for all of it
    if (document.length < bytes) throw new BadFraming();
    return document;
  }

  static void serve(Socket socket, Exchange exchange) {
    try (socket) {
      InputStream in = new BufferedInputStream(socket.getInputStream());
      OutputStream out = socket.getOutputStream();
      DocumentBuilder parser = newParser();
      try {
        for (byte[] document; (document = readRequest(in)) != null; )
          out.write(replyTo(exchange, parser, document).getBytes(StandardCharsets.UTF_8));
      } catch (BadFraming bad) {
        out.write(("<results>" + error("", "bad framing") + "</results>\n").getBytes());
      }
    } catch (IOException gone) {
      // the client is gone
    } catch (ParserConfigurationException bad) {
      throw new IllegalStateException(bad);
    }
  }

  public static void main(String[] arguments) throws IOException {
    Exchange exchange = new Exchange();
    InetAddress address = InetAddress.getByName("127.0.0.1");
    try (ServerSocket listener = new ServerSocket()) {
      listener.setReuseAddress(true);
      listener.bind(new java.net.InetSocketAddress(address, Integer.parseInt(arguments[0])), 256);
      while (true) {
        Socket socket = listener.accept();
        socket.setTcpNoDelay(true);
        // TODO: a thread for each connection, or a pool (lab 3)?
        new Thread(() -> serve(socket, exchange)).start();
      }
    }
  }
}
