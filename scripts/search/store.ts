/**
 * Every object that was ever written to the API server of a testbed, overwritten, deleted and expired ones too, out of
 * the log of its etcd: Secrets apart from all others.
 */
const KEY = "/registry/";
/** An entry of a Secret's data: its name and its value, each after its length. */
const ENTRY = /\n(.)([\w.-]+)(.)(.)/gs;
/** By which protobuf says that a text follows. */
const VALUE = 0x12;
/** Those whose values are secret as a whole, and random. */
const WHOLE = /^(?:password|key|auth-token[\w.-]*\.key|[A-Z]+_[A-Z_]*(?:KEY|TOKEN|SAS))$/;

export interface StoredObject {
  /** As `configmaps/default/settings`. */
  readonly key: string;
  readonly text: string;
}

export interface Stored {
  readonly objects: readonly StoredObject[];
  /** Passwords and keys that Secrets hold. */
  readonly secrets: readonly string[];
}

/** `log`: bytes as Latin-1. An entry names its object first, and nothing else in it begins so. */
export function storedIn(log: string): Stored {
  const objects: StoredObject[] = [];
  const secrets: string[] = [];
  for (const text of log.split(KEY).slice(1)) {
    const key = /^[\w./:-]*/.exec(text)?.[0] ?? "";
    if (!key.startsWith("secrets/")) objects.push({ key, text });
    else secrets.push(...wholeIn(text));
  }
  return { objects, secrets };
}

function wholeIn(secret: string): string[] {
  return [...secret.matchAll(ENTRY)].flatMap((match) => {
    const [entry, length = "", name = "", kind = "", size = ""] = match;
    const isEntry = name.length === length.charCodeAt(0) && kind.charCodeAt(0) === VALUE;
    // What takes two bytes for its length is longer than a password.
    if (!isEntry || size.charCodeAt(0) > 0x7f || !WHOLE.test(name)) return [];
    const from = match.index + entry.length;
    return [secret.slice(from, from + size.charCodeAt(0))];
  });
}
