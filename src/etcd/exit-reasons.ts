/**
 * Why an etcd process ended, read from what it wrote last. etcd gives the same exit code to almost
 * everything, so its words are all there is; each row was seen with a real etcd of the versions we run
 * (`test/etcd/process.test.ts`) or is in its source. Rows are tried from the last line backwards.
 */

export type ExitReason =
  | "stopped"
  | "killed"
  | "permanently-removed"
  | "cluster-id-mismatch"
  | "member-count-unequal"
  | "peer-urls-unmatched"
  | "already-bootstrapped"
  | "cluster-unreachable"
  | "not-in-initial-cluster"
  | "data-newer-version"
  | "data-older-version"
  | "cluster-newer-version"
  | "v2-content"
  | "data-lost"
  | "member-unknown"
  | "corrupt-data"
  | "corrupt-at-start"
  | "port-in-use"
  | "bad-flag"
  | "bad-config"
  | "bad-certificate"
  | "disk-full"
  | "permission-denied"
  | "not-a-directory"
  | "panic"
  | "unknown";

interface Row {
  readonly reason: ExitReason;
  readonly says: RegExp;
  /** Nothing that is written after it can be what ended the process: only what it still says to its peers. */
  readonly isFinal?: boolean;
}

/** What to do about each, for a person. */
export const nextSteps: Readonly<Record<ExitReason, string>> = {
  stopped: "start it again when it is needed",
  killed: "start it again; if it was not killed on purpose, check for the OOM killer",
  "permanently-removed": "its data directory cannot be reused: delete it and add a new member",
  "cluster-id-mismatch": "the peers belong to another cluster: correct the initial cluster or the token",
  "member-count-unequal": "start it with the cluster's current member list",
  "peer-urls-unmatched": "start it with the peer URLs of the cluster's member list",
  "already-bootstrapped": "start it as a member of the existing cluster, with a data directory of its own",
  "cluster-unreachable":
    "start the other members first; a member that lost its data must be removed and added again",
  "not-in-initial-cluster": "add the member itself to its initial cluster",
  "data-newer-version": "start the version that wrote the data, or migrate it with etcdutl",
  "data-older-version": "start the minor version that wrote the data and upgrade one minor at a time",
  "cluster-newer-version": "start the cluster's version, or enable a downgrade first",
  "v2-content": "remove the content of the v2 store with the older version first",
  "data-lost": "the member lost acknowledged data: remove it, delete its data and add a new member",
  "member-unknown": "start it with the same max-learners as the others; if it persists, replace the member",
  "corrupt-data": "replace the member: remove it, delete its data directory and add a new one",
  "corrupt-at-start": "its data differs from the other members': replace the member",
  "port-in-use": "stop the process that uses the port, or choose another port",
  "bad-flag": "remove or correct the option: this version does not support it",
  "bad-config": "correct the configuration file",
  "bad-certificate": "check certificate, key and CA files",
  "disk-full": "free space on the data directory's file system",
  "permission-denied": "let the process read and write its data directory and files",
  "not-a-directory": "point the data directory at a directory",
  panic: "keep the data directory and check the log; if it happens again, replace the member",
  unknown: "check the log",
};

const rows: readonly Row[] = [
  { reason: "permanently-removed", says: /permanently removed from the cluster/, isFinal: true },
  // Asked for its status between its removal and its end, a member looks for itself and panics.
  { reason: "permanently-removed", says: /failed to find local ID in cluster members/, isFinal: true },
  { reason: "data-lost", says: /tocommit\(\d+\) is out of range/ },
  { reason: "member-count-unequal", says: /member count is unequal/ },
  { reason: "peer-urls-unmatched", says: /error validating peerURLs/ },
  { reason: "already-bootstrapped", says: /has already been bootstrapped/ },
  { reason: "cluster-unreachable", says: /cannot fetch cluster info from peer urls/ },
  { reason: "not-in-initial-cluster", says: /couldn't find local name .* in the initial cluster/ },
  { reason: "cluster-id-mismatch", says: /cluster ID mismatch/ },
  {
    reason: "cluster-newer-version",
    says: /server version is lower than determined cluster version|incompatible with current running cluster/,
  },
  { reason: "data-newer-version", says: /version "[\d.]+" is not supported/ },
  { reason: "v2-content", says: /disallowed (custom content in v2store|v2 WAL)/ },
  { reason: "data-older-version", says: /unmarshal should never fail/ },
  { reason: "member-unknown", says: /member unknown/ },
  { reason: "corrupt-at-start", says: /checkInitialHashKV failed/ },
  { reason: "port-in-use", says: /address already in use/ },
  { reason: "disk-full", says: /no space left on device|disk quota exceeded/ },
  { reason: "permission-denied", says: /permission denied|read-only file system|operation not permitted/ },
  { reason: "not-a-directory", says: /: not a directory/ },
  { reason: "bad-flag", says: /^flag provided but not defined|^invalid value .* for flag/ },
  { reason: "bad-certificate", says: /\btls: |\bx509: / },
  {
    reason: "corrupt-data",
    says: /failed to open database|assertion failed: |crc mismatch|cannot be repaired|failed to recover v3 backend|failed to read WAL|wal: slice bounds/,
  },
  { reason: "bad-config", says: /failed to verify flags/ },
];
const PANIC = /^panic: |^fatal error: |^SIGBUS|^unexpected fault address/;
/** etcd prints whole member lists into some messages; the beginning and the end tell enough. */
const LONGEST_SAID = 300;

export interface ExitFinding {
  readonly reason: ExitReason;
  /** The line it was read from, shortened to what it says. */
  readonly said: string;
}

/** What ended (or holds up) the process, from the lines it wrote in this run. */
export function readExitReason(lines: readonly string[]): ExitFinding {
  const grave = lines
    .map(speak)
    .filter((line) => line.grave)
    .toReversed();
  const finals = rows.filter(({ isFinal }) => isFinal);
  for (const [known, { text }] of [finals, rows].flatMap((some) =>
    grave.map((line) => [some, line] as const),
  )) {
    const row = known.find(({ says }) => says.test(text));
    if (row !== undefined) return { reason: row.reason, said: shorten(text) };
  }
  const panic = grave.find(({ text }) => PANIC.test(text));
  if (panic !== undefined) return { reason: "panic", said: shorten(panic.text) };
  return { reason: "unknown", said: shorten(grave[0]?.text ?? lines.at(-1) ?? "") };
}

function shorten(text: string): string {
  if (text.length <= LONGEST_SAID) return text;
  return `${text.slice(0, LONGEST_SAID / 3)} … ${text.slice(-(LONGEST_SAID * 2) / 3)}`;
}

/** A log line as one sentence. Only warnings and worse, and lines that are not JSON, can be a reason. */
function speak(line: string): { text: string; grave: boolean } {
  if (!line.startsWith("{")) return { text: line.trim(), grave: true };
  try {
    const entry = JSON.parse(line) as Record<string, unknown>;
    const parts = ["msg", "error", "panic"]
      .map((key) => entry[key])
      .filter((part) => typeof part === "string");
    return { text: parts.join(": "), grave: entry["level"] !== "info" && entry["level"] !== "debug" };
  } catch {
    return { text: line, grave: true }; // Cut off in the middle.
  }
}
