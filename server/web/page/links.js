// What the page reads from its address, which anyone may have written. Pure.

// Text with its %20 and the like as the characters that they stand for; as it is where they stand for none.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// {account, key} of "#sign-in=7:KEY", with an empty key where the server has no keys; null: no such link.
export function readSignIn(hash) {
  const [, account, key] = /^#sign-in=(\d{1,64})(?::|%3A)(.*)$/is.exec(hash) ?? [];
  return account === undefined ? null : {account, key: decoded(key)};
}

// Whether an exchange can have a symbol of this name (C7 of docs/protocol.md).
export const isSymbol = (name) => /^[A-Za-z0-9]{1,32}$/.test(name);
