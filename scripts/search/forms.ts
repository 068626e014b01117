/**
 * What keys and passwords look like wherever they are written: private keys by the bytes that every one of their kind
 * begins with, passwords of tests by the mark that all of them carry. So nobody has to say which ones a run made.
 */
import { Buffer } from "node:buffer";
import { PASSWORD_MARK } from "../../test/support/passwords.ts";

export interface Found {
  readonly line: number;
  /** Never the secret itself. */
  readonly what: string;
}

/** The end of a line is two characters in a JSON text, and three in one within another. */
const LINE_END = String.raw`(?:\s|\\+[nr])*`;
const PEM = String.raw`-----BEGIN [A-Z ]*PRIVATE KEY-----${LINE_END}[A-Za-z0-9+/]{16}`;
/** How the base64 of a key begins, up to where it is random. */
const BODIES = [
  // PKCS 8, of the curves P-256, P-384 and P-521, and of RSA of any length.
  "MIGHAgEAMBMGByqGSM49AgEG",
  "MIG2AgEAMBAGByqGSM49AgEG",
  "MIHuAgEAMBAGByqGSM49AgEG",
  "IBADANBgkqhkiG9w0BAQEFAASC",
  "MC4CAQAwBQYDK2VwBCIEI",
  // SEC 1 and PKCS 1, which name their kind.
  "MHcCAQEEI[A-P][A-Za-z0-9+/]{42}oAoGCCqGSM49",
  "MII[A-Za-z0-9+/]{3}IBAAKCA[QYg]EA",
];
/** A Secret of the API, and `stringData` that was encoded once more. */
const ENCODED = encodings("PRIVATE KEY-----\n");

const FORMS: readonly (readonly [what: string, form: RegExp])[] = [
  ["a private key", new RegExp(PEM, "g")],
  ["a private key", new RegExp(BODIES.join("|"), "g")],
  ["a private key in base64", new RegExp(ENCODED.join("|"), "g")],
  ["a password of a test", new RegExp(PASSWORD_MARK, "g")],
  ["a password of a test in base64", new RegExp(encodings(PASSWORD_MARK).join("|"), "g")],
];

/** What base64 makes of a text wherever in three bytes it begins, without the ends that depend on its neighbours. */
function encodings(text: string): string[] {
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.from(`${"\0".repeat(before)}${text}`)
      .toString("base64")
      .replace(/=+$/, "");
    const from = [0, 2, 3][before];
    const isWhole = (before + text.length) % 3 === 0;
    return encoded.slice(from, isWhole ? undefined : -1).replaceAll("+", String.raw`\+`);
  });
}

/** Each of them once per line; `known`: secrets that are random as a whole, such as passwords that the product made. */
export function secretsIn(text: string, known: Iterable<string> = []): Found[] {
  const found = FORMS.flatMap(([what, form]) =>
    [...text.matchAll(form)].map(({ index }) => ({ index, what })),
  );
  for (const secret of known)
    for (const one of [secret, Buffer.from(secret, "latin1").toString("base64").replace(/.?=+$/, "")]) {
      const index = text.indexOf(one);
      if (index >= 0) found.push({ index, what: "a password or a key that belongs elsewhere" });
    }
  const lines = found.map(({ index, what }) => ({ line: lineAt(text, index), what }));
  return [...new Map(lines.map((one) => [`${one.line} ${one.what}`, one])).values()];
}

function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < index; at = text.indexOf("\n", at + 1)) line++;
  return line;
}
