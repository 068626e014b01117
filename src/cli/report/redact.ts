/**
 * What must not leave the house with a bug report: keys, passwords, tokens. Objects lose whole fields that may hold
 * them; then every text, whatever it is, is searched for what looks like one. Better a line too much than a key.
 */
const HIDDEN = "[redacted]";

/** Fields of objects that are left out, whatever is in them. */
const LEFT_OUT = new Set(["managedFields", "kubectl.kubernetes.io/last-applied-configuration"]);
const SENSITIVE_NAME =
  /pass(?:word|wd|phrase)?|secret|token|credential|api[-_]?key|access[-_]?key|private[-_]?key/i;
/** Names of objects and files are no secrets, though they say so in their own names. */
const REFERENCE =
  /^(?:.*(?:Name|Ref|Key|Path|Policy|Names)|secret|clientSecret|automountServiceAccountToken|serviceAccountToken)$/;

/** An object without what may be secret in it. Environment variables lose their values: nobody knows what they hold. */
export function redactedObject(value: unknown, name = ""): unknown {
  if (Array.isArray(value)) {
    const within: readonly unknown[] = value;
    return within.map((one, index) => {
      if (name === "env") return withoutValue(one);
      const before = within[index - 1];
      if (typeof one === "string" && isSecretFlag(before)) return HIDDEN;
      return typeof one === "string" && isUserFlag(before)
        ? one.replace(USER_VALUE, `$1:${HIDDEN}`)
        : redactedObject(one);
    });
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !LEFT_OUT.has(key))
        .map(([key, inner]) => [key, redactedObject(inner, key)]),
    );
  }
  if (typeof value === "string" && SENSITIVE_NAME.test(name) && !REFERENCE.test(name)) return HIDDEN;
  return typeof value === "string" ? redactedText(value) : value;
}

function withoutValue(variable: unknown): unknown {
  if (typeof variable !== "object" || variable === null || !("value" in variable))
    return redactedObject(variable);
  return { ...(redactedObject(variable) as object), value: HIDDEN };
}

/** Of a command line in words: the value is the next one. */
function isSecretFlag(word: unknown): boolean {
  return typeof word === "string" && SECRET_FLAG.test(word);
}

/** `--user root` alone says who, not how. */
function isUserFlag(word: unknown): boolean {
  return typeof word === "string" && USER_FLAG.test(word);
}

const USER_FLAG = /^--?(?:user|u)$/i;
const USER_VALUE = /^([^\s:]*):[^]+$/;

const NAMES =
  "(?:pass(?:word|wd|phrase)?|secret(?:[-_]?access)?(?:[-_]?key)?|token|api[-_]?key|access[-_]?key(?:[-_]?id)?|private[-_]?key|credentials?)";
const SECRET_FLAG = new RegExp(`^--?[\\w-]*${NAMES}$`, "i");
/** Not what was replaced already. */
const VALUE = "(?!\\[redacted\\])[^\\s\"',;}\\]]{3,}";

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // PEM, also with the line ends of a JSON text; and a PEM in base64.
  [/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)/g, HIDDEN],
  [/LS0tLS1CRUdJTi[A-Za-z0-9+/=]*(?:\s+[A-Za-z0-9+/=]{40,})*/g, HIDDEN],
  // A JSON Web Token, an AWS key, and what follows the scheme of an Authorization header.
  [/\beyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)?/g, HIDDEN],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b/g, HIDDEN],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/gi, `$1 ${HIDDEN}`],
  // user:password@host in URLs.
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@:"']*:[^\s/@"']+@/gi, `$1${HIDDEN}@`],
  // --user name:password of etcdctl and curl, in one word, in two, and as items of a list.
  [
    /((?:^|[\s"'[])(?:--?user|-u)(?:=|["'\\]*\s*,\s*["'\\]*|\s+(?:-\s+)?["']?)[^\s"':=]*:)(?!\[redacted)[^\s"'\\,\]]+/gi,
    `$1${HIDDEN}`,
  ],
  // name=value, name: value, "name": "value"; --name value; and "--name", "value".
  [new RegExp(`(${NAMES}["'\\\\]*\\s*[:=]\\s*\\\\*)(["'])(?!\\[redacted).*?\\2`, "gi"), `$1$2${HIDDEN}$2`],
  [new RegExp(`(${NAMES}["'\\\\]*\\s*[:=]\\s*["'\\\\]*)${VALUE}`, "gi"), `$1${HIDDEN}`],
  [new RegExp(`(--[\\w-]*${NAMES}\\s+(?:-\\s+)?["']?)${VALUE}`, "gi"), `$1${HIDDEN}`],
  [
    new RegExp(`(--[\\w-]*${NAMES}["'\\\\]+\\s*,\\s*\\\\*)(["'])(?!\\[redacted).*?\\2`, "gi"),
    `$1$2${HIDDEN}$2`,
  ],
];

export function redactedText(text: string): string {
  return PATTERNS.reduce((result, [pattern, instead]) => result.replace(pattern, instead), text);
}
