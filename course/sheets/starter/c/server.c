/* A server of the exchange protocol to begin with: ./server PORT
 *
 * It reads requests, parses and checks them, and answers each element. It creates accounts, and
 * accepts orders without looking at what the account has. Your work begins at each TODO. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <expat.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { frame_bytes_max = 1048576, depth_max = 16, attributes_max = 16 };

/* --- XML --- */

struct element {
  char *name, *text; /* text: of it alone, "" if there is none */
  char *attributes[2 * attributes_max + 1]; /* name, value, name, value, ..., NULL */
  struct element *first, *last, *next;      /* children; next sibling */
  struct element *parent;
};

struct parse {
  XML_Parser parser;
  struct element *root, *open;
  int depth;
};

static void begin_element(void *data, const char *name, const char **attributes) {
  struct parse *at = data;
  struct element *element = calloc(1, sizeof *element);
  int count = 0;
  element->name = strdup(name);
  element->text = strdup("");
  for (; *attributes && count < 2 * attributes_max; ++attributes)
    element->attributes[count++] = strdup(*attributes);
  element->parent = at->open;
  if (!at->open)
    at->root = element;
  else if (at->open->last)
    at->open->last->next = element;
  else
    at->open->first = element;
  if (at->open) at->open->last = element;
  at->open = element;
  if (++at->depth > depth_max) XML_StopParser(at->parser, XML_FALSE);
}

static void end_element(void *data, const char *name) {
  struct parse *at = data;
  (void)name;
  at->open = at->open->parent;
  --at->depth;
}

static void add_text(void *data, const char *text, int bytes) {
  struct parse *at = data;
  if (!at->open) return;
  char *old = at->open->text;
  if (asprintf(&at->open->text, "%s%.*s", old, bytes, text) < 0) abort();
  free(old);
}

static void free_element(struct element *element) {
  if (!element) return;
  for (struct element *child = element->first, *next; child; child = next) {
    next = child->next;
    free_element(child);
  }
  for (int i = 0; element->attributes[i]; ++i) free(element->attributes[i]);
  free(element->name);
  free(element->text);
  free(element);
}

/* NULL if the document is malformed. */
static struct element *parse(const char *document, size_t bytes) {
  struct parse at = {XML_ParserCreate("UTF-8"), NULL, NULL, 0};
  XML_SetUserData(at.parser, &at);
  XML_SetElementHandler(at.parser, begin_element, end_element);
  XML_SetCharacterDataHandler(at.parser, add_text);
  const bool well_formed = XML_Parse(at.parser, document, (int)bytes, 1) == XML_STATUS_OK;
  XML_ParserFree(at.parser);
  if (well_formed) return at.root;
  free_element(at.root);
  return NULL;
}

/* NULL if it is absent. */
static const char *get(const struct element *element, const char *name) {
  for (int i = 0; element->attributes[i]; i += 2)
    if (strcmp(element->attributes[i], name) == 0) return element->attributes[i + 1];
  return NULL;
}

static void write_escaped(FILE *out, const char *text) {
  for (; *text; ++text)
    switch (*text) {
      case '<': fputs("&lt;", out); break;
      case '>': fputs("&gt;", out); break;
      case '&': fputs("&amp;", out); break;
      case '"': fputs("&quot;", out); break;
      default: fputc(*text, out);
    }
}

/* --- checks: each returns why not, or NULL --- */

/* A plain decimal number in hundredths; further decimals are cut. strtod would also take "1e3",
 * "nan" and " 1", and a double is not exact. */
static const char *read_number(const char *text, int64_t *hundredths) {
  const int64_t value_max = 9000000000000000;
  int64_t value = 0;
  int digits = 0, decimals = -1; /* -1: no point so far */
  if (!text) return "a number is missing";
  const bool negative = *text == '-';
  for (text += negative; *text; ++text) {
    if (*text == '.' && decimals < 0) {
      decimals = 0;
      continue;
    }
    if (*text < '0' || *text > '9') return "not a number";
    ++digits;
    if (decimals < 2) value = value * 10 + (*text - '0');
    if (decimals >= 0 && decimals < 2) ++decimals;
    if (value > value_max) return "a number that is too large";
  }
  if (digits == 0) return "not a number";
  for (decimals = decimals < 0 ? 0 : decimals; decimals < 2; ++decimals) value *= 10;
  *hundredths = negative ? -value : value;
  return NULL;
}

static const char *check_account_id(const char *id) {
  const size_t length = id ? strlen(id) : 0;
  const bool valid = length >= 1 && length <= 64 && strspn(id, "0123456789") == length;
  return valid ? NULL : "an account id has 1 to 64 digits";
}

static const char *check_symbol(const char *symbol) {
  const size_t length = symbol ? strlen(symbol) : 0;
  const char *const allowed = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const bool valid = length >= 1 && length <= 32 && strspn(symbol, allowed) == length;
  return valid ? NULL : "a symbol has letters and digits";
}

/* --- the exchange: all state, under one lock --- */

struct account {
  char *id;
  int64_t cash; /* hundredths */
  struct account *next;
};

static struct account *accounts[4096];
static uint64_t orders; /* ids given so far */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct account **find_account(const char *id) {
  size_t hash = 5381;
  for (const char *c = id; *c; ++c) hash = hash * 33 + (unsigned char)*c;
  struct account **at = &accounts[hash % 4096];
  while (*at && strcmp((*at)->id, id) != 0) at = &(*at)->next;
  return at;
}

static const char *create_account(const char *id, const char *balance) {
  int64_t hundredths = 0;
  const char *why = check_account_id(id);
  if (!why) why = read_number(balance, &hundredths);
  if (why) return why;
  if (hundredths < 0) return "the balance is negative";
  struct account **at = find_account(id);
  if (*at) return "the account exists already";
  *at = calloc(1, sizeof **at);
  (*at)->id = strdup(id);
  (*at)->cash = hundredths;
  return NULL;
}

static const char *place_shares(const char *symbol, const char *id, const char *text) {
  int64_t hundredths = 0;
  char shares[64] = "";
  const char *why = check_symbol(symbol);
  text += strspn(text, " \t\r\n");
  size_t length = strlen(text);
  while (length > 0 && strchr(" \t\r\n", text[length - 1])) --length;
  if (length < sizeof shares) memcpy(shares, text, length);
  if (!why) why = read_number(shares, &hundredths);
  if (why) return why;
  if (hundredths < 0) return "the number of shares is negative";
  if (!id || !*find_account(id)) return "no such account";
  return NULL; /* TODO (C9): the account gets these shares. */
}

static const char *place_order(struct account *account, const struct element *asked,
                               uint64_t *id) {
  int64_t amount = 0, limit = 0;
  (void)account;
  const char *why = check_symbol(get(asked, "sym"));
  if (!why) why = read_number(get(asked, "amount"), &amount);
  if (!why) why = read_number(get(asked, "limit"), &limit);
  if (why) return why;
  if (amount == 0) return "the amount is zero";
  if (limit <= 0) return "the limit must be above zero";
  /* TODO (M1 to M9): check what the account has, reserve, match, rest. */
  *id = ++orders;
  return NULL;
}

/* These write what is inside <status>, or <canceled>. */
static const char *query(struct account *account, const char *id, FILE *inside) {
  (void)account, (void)id, (void)inside;
  return "no such order"; /* TODO (T9) */
}
static const char *cancel(struct account *account, const char *id, FILE *inside) {
  (void)account, (void)id, (void)inside;
  return "no such order"; /* TODO (T10, M10) */
}

/* --- requests --- */

/* <name ...: the attributes of these names, as far as the client gave them. */
static void begin_reply(FILE *out, const char *name, const struct element *asked,
                        const char *const *names) {
  fprintf(out, "<%s", name);
  for (; *names; ++names) {
    const char *const value = get(asked, *names);
    if (!value) continue;
    fprintf(out, " %s=\"", *names);
    write_escaped(out, value);
    fputc('"', out);
  }
}

static const char *const of_account[] = {"id", NULL}, *const of_symbol[] = {"sym", NULL},
                        *const of_order[] = {"sym", "amount", "limit", NULL};

static void reply_placement(FILE *out, const struct element *symbol, const struct element *placed,
                            const char *why) {
  begin_reply(out, why ? "error" : "created", symbol, of_symbol);
  if (placed && get(placed, "id")) {
    fputs(" id=\"", out);
    write_escaped(out, get(placed, "id"));
    fputc('"', out);
  }
  fprintf(out, why ? ">%s</error>" : "/>", why);
}

static void create(FILE *out, const struct element *root) {
  for (const struct element *child = root->first; child; child = child->next) {
    if (strcmp(child->name, "account") == 0) {
      const char *const why = create_account(get(child, "id"), get(child, "balance"));
      begin_reply(out, why ? "error" : "created", child, of_account);
      fprintf(out, why ? ">%s</error>" : "/>", why);
    } else if (strcmp(child->name, "symbol") == 0) {
      if (!child->first) reply_placement(out, child, NULL, check_symbol(get(child, "sym")));
      for (const struct element *placed = child->first; placed; placed = placed->next)
        reply_placement(out, child, placed,
                        place_shares(get(child, "sym"), get(placed, "id"), placed->text));
    } else {
      fputs("<error>unknown element</error>", out);
    }
  }
}

static void transact(FILE *out, const struct element *root) {
  const char *const id = get(root, "id") ? get(root, "id") : get(root, "account");
  struct account *const account = id ? *find_account(id) : NULL;
  for (const struct element *child = root->first; child; child = child->next) {
    const bool is_order = strcmp(child->name, "order") == 0,
               is_query = strcmp(child->name, "query") == 0;
    if (!is_order && !is_query && strcmp(child->name, "cancel") != 0) {
      fputs("<error>unknown element</error>", out);
      continue;
    }
    char *inside = NULL;
    size_t bytes = 0;
    uint64_t number = 0;
    FILE *const state = open_memstream(&inside, &bytes);
    const char *const why = !account  ? "no such account"
                            : is_order ? place_order(account, child, &number)
                            : is_query ? query(account, get(child, "id"), state)
                                       : cancel(account, get(child, "id"), state);
    fclose(state);
    const char *const name = why        ? "error"
                             : is_order ? "opened"
                             : is_query ? "status"
                                        : "canceled";
    begin_reply(out, name, child, is_order ? of_order : of_account);
    if (is_order && !why)
      fprintf(out, " id=\"%llu\"/>", (unsigned long long)number);
    else
      fprintf(out, ">%s</%s>", why ? why : inside, name);
    free(inside);
  }
}

/* The caller frees it. */
static char *reply_to(const char *document, size_t bytes, size_t *reply_bytes) {
  char *reply = NULL;
  FILE *const out = open_memstream(&reply, reply_bytes);
  struct element *const root = parse(document, bytes);
  fputs("<results>", out);
  pthread_mutex_lock(&lock); /* T17: one request after another */
  if (!root)
    fputs("<error>malformed XML</error>", out);
  else if (strcmp(root->name, "create") == 0)
    create(out, root);
  else if (strcmp(root->name, "transactions") == 0)
    transact(out, root);
  else
    fputs("<error>unknown element</error>", out);
  pthread_mutex_unlock(&lock);
  fputs("</results>\n", out);
  fclose(out);
  free_element(root);
  return reply;
}

/* --- connections --- */

static bool send_all(int socket, const char *bytes, size_t count) {
  while (count > 0) {
    const ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    count -= (size_t)sent;
  }
  return true;
}

/* The bytes of the next document; 0 at the end of the stream, -1 for bad framing. */
static long read_length(FILE *in) {
  char line[22];
  if (!fgets(line, sizeof line, in)) return 0;
  const size_t digits = strspn(line, "0123456789");
  const char *const end = line + digits;
  if (digits == 0 || (strcmp(end, "\n") != 0 && strcmp(end, "\r\n") != 0)) return -1;
  const unsigned long long bytes = strtoull(line, NULL, 10);
  return bytes >= 1 && bytes <= frame_bytes_max ? (long)bytes : -1;
}

static void *serve(void *argument) {
  const int socket = (int)(intptr_t)argument;
  FILE *const in = fdopen(socket, "rb"); /* fread waits for all bytes: one recv is not one request */
  for (long bytes; (bytes = read_length(in)) != 0;) {
    char *const document = bytes > 0 ? malloc((size_t)bytes) : NULL;
    if (!document || fread(document, 1, (size_t)bytes, in) < (size_t)bytes) {
      const char *const bad = "<results><error>bad framing</error></results>\n";
      send_all(socket, bad, strlen(bad));
      free(document);
      break;
    }
    size_t reply_bytes = 0;
    char *const reply = reply_to(document, (size_t)bytes, &reply_bytes);
    const bool sent = send_all(socket, reply, reply_bytes);
    free(reply);
    free(document);
    if (!sent) break;
  }
  fclose(in);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 2) return fputs("usage: server PORT\n", stderr), 2;
  signal(SIGPIPE, SIG_IGN);
  const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)atoi(argv[1])),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
      listen(listener, 256) != 0)
    return perror("listen"), 1;
  for (;;) {
    const int connection = accept(listener, NULL, NULL);
    if (connection < 0) continue;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pthread_t thread; /* TODO: a thread for each connection, or a pool (lab 3)? */
    if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)connection) != 0)
      close(connection);
    else
      pthread_detach(thread);
  }
}
