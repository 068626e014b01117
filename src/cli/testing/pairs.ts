/**
 * Every verb once with a failure that says what to do, and where it is called with success: through real kubectl on a real
 * API server, or, where that cannot be or shows nothing more, elsewhere with the reason.
 */
export interface Pair {
  /** What follows the verb, in an empty home directory without a kubeconfig. */
  readonly wrong: string;
  readonly code: number;
  readonly says: RegExp;
  readonly right: Proof;
}

/** A test file in which the verb must end with 0 when real kubectl calls it; the last test of that file checks it. */
interface ThroughKubectl {
  readonly kubectl: string;
}

/** A test file in which the verb must end with 0 when the program is run on this machine; its last test checks it. */
interface ThroughProgram {
  readonly program: string;
}

/** The last word of the verb is in the file, or `needle`. */
interface Elsewhere {
  readonly file: string;
  readonly needle?: string;
  /** Why not through kubectl. */
  readonly why: string;
}

export type Proof = ThroughKubectl | ThroughProgram | Elsewhere;

const START = /Start one with: quorate local up/;
const MEMBER = /missing: <member>/;
const NO_SNAPSHOT = /there is no snapshot .*List what there is: quorate snapshot ls/;
const kubectl = (file: string): ThroughKubectl => ({ kubectl: file });
const READS = kubectl("test/operator/command.test.ts");
const ACTS = kubectl("test/operator/command-act.test.ts");
/** Port-forwards and logs take a kubelet. */
const NODES = kubectl("test/operator/on-nodes/reach.test.ts");
const elsewhere =
  (why: string) =>
  (file: string, needle?: string): Elsewhere => ({ file, why, ...(needle !== undefined && { needle }) });
const onMachine = elsewhere("it is about a cluster of this machine");
const inPod = elsewhere("the operator's own Pods call it");
const onFiles = elsewhere("it is about files and servers, and Kubernetes has no part in it");
const LOCAL_ACTS: ThroughProgram = { program: "test/local/command-act.test.ts" };
const LOCAL_VERBS = "test/local/command.test.ts";
const UP: ThroughProgram = { program: "test/local/up.test.ts" };

/** Of a cluster that does not exist on this machine. */
const none = (right: Proof, more = ""): Pair => ({
  wrong: `nosuch${more} --local`,
  code: 3,
  says: START,
  right,
});
const wrong = (words: string, code: number, says: RegExp, right: Proof): Pair => ({
  wrong: words,
  code,
  says,
  right,
});
const gone = (right: Proof, more = ""): Pair => wrong(`--name nosuch${more}`, 3, START, right);

export const PAIRS: Readonly<Record<string, Pair>> = {
  status: none(READS),
  list: wrong("--local nosuch", 2, /too many arguments: nosuch.*quorate list --help/, READS),
  members: none(READS),
  why: none(READS),
  plan: none(READS, " --replicas 3"),
  events: none(READS),
  logs: none(NODES),
  top: none(READS),
  etcdctl: wrong("nosuch --local -- member list", 3, START, NODES),
  shell: none(NODES),
  report: none(NODES),
  "certificate issue": wrong("bob --dir nowhere", 3, START, READS),
  "certificate show": none(READS),
  apply: wrong("--local", 2, /missing: -f <file>/, ACTS),
  scale: none(ACTS, " 3"),
  upgrade: none(ACTS, " 3.7"),
  hibernate: none(ACTS, " --yes"),
  wake: none(ACTS),
  pause: none(ACTS, " --yes"),
  resume: none(ACTS),
  approve: none(ACTS, " 1f0c"),
  "member replace": none(ACTS, "-1 --yes"),
  "member fence": none(ACTS, "-1"),
  "member unfence": none(ACTS, "-1"),
  "member erase": wrong(
    "nowhere --uid 1",
    6,
    /add --yes to confirm/,
    inPod("src/cli/verbs/member-erase.test.ts"),
  ),
  "leader move": none(ACTS),
  restart: none(ACTS, " --yes"),
  defrag: none(ACTS, " --yes"),
  compact: none(ACTS, " --yes"),
  "operation list": none(ACTS),
  "operation show": wrong("nosuch --local", 3, /no operation is named "nosuch" on this machine/, ACTS),
  "operation cancel": wrong("nosuch --local", 3, /no operation is named "nosuch" on this machine/, ACTS),
  "snapshot save": wrong(
    "--endpoints http://127.0.0.1:1 x.db",
    1,
    /check the endpoints/,
    onFiles("test/etcd/snapshot-save.test.ts"),
  ),
  "snapshot follow": wrong(
    "nowhere/",
    2,
    /no endpoint: pass --endpoints/,
    onFiles("test/etcd/point-in-time.test.ts", "running = follow("),
  ),
  "snapshot build": wrong("nowhere/ x.db", 3, /check the path/, onFiles("test/etcd/point-in-time.test.ts")),
  "snapshot build-fetch": wrong(
    "--scratch-dir s --endpoint http://127.0.0.1:1 nowhere/",
    2,
    /--etcd-version is needed/,
    inPod("test/operator/followers.test.ts", "pointInTime"),
  ),
  "snapshot build-replay": wrong(
    "--scratch-dir s --endpoint http://127.0.0.1:1 nowhere/",
    2,
    /--id is needed/,
    inPod("test/operator/followers.test.ts", "pointInTime"),
  ),
  "snapshot ls": wrong("nowhere/", 3, /check the path/, READS),
  "snapshot status": wrong("nowhere.db", 3, NO_SNAPSHOT, READS),
  "snapshot get": wrong("nowhere.db x.db", 3, NO_SNAPSHOT, READS),
  "snapshot copy": wrong("nowhere.db x/", 3, NO_SNAPSHOT, READS),
  "snapshot verify": wrong("nowhere.db", 3, NO_SNAPSHOT, READS),
  "snapshot verify-fetch": wrong(
    "--scratch-dir s --endpoint http://127.0.0.1:1 nowhere.db",
    1,
    /Use another snapshot/,
    inPod("test/operator/snapshots.test.ts", "verifiedAt"),
  ),
  "snapshot verify-compare": wrong(
    "--scratch-dir s --endpoint http://127.0.0.1:1",
    1,
    /nothing was fetched; run snapshot verify-fetch first/,
    inPod("test/operator/snapshots.test.ts", "verifiedAt"),
  ),
  "snapshot verify-here": wrong(
    "nowhere.db",
    2,
    /--scratch-dir and --etcd-version are needed/,
    onMachine("test/local/snapshots.test.ts", "erif"),
  ),
  "snapshot import": wrong("nowhere.db x/", 3, NO_SNAPSHOT, READS),
  "snapshot delete": wrong("nowhere/", 2, /name the snapshot with --id/, READS),
  "snapshot stage": wrong(
    "nowhere --etcd-version 3.6.16",
    2,
    /QUORATE_RESTORE is not set: it has to hold/,
    inPod("test/operator/restore.test.ts", "RESTORE_CONTAINERS"),
  ),
  "snapshot place": wrong(
    "nowhere",
    1,
    /etcdutl did not finish/,
    inPod("test/operator/restore.test.ts", "RESTORE_CONTAINERS"),
  ),
  "snapshot prune": wrong("nowhere/", 2, /pass --keep-last or one of --hourly/, READS),
  restore: wrong("nowhere.db nosuch --local", 3, START, kubectl("test/operator/restore.test.ts")),
  "recover quorum": none(kubectl("test/operator/recover.test.ts")),
  "recover copy": wrong("nowhere", 2, /--term is missing/, inPod("test/operator/recover.test.ts", "recover")),
  "recover save": wrong("nowhere", 2, /--plan is missing/, inPod("test/operator/recover.test.ts", "recover")),
  "recover node": wrong(
    "nowhere",
    3,
    /Pass the directory of a member/,
    onFiles("test/etcd/recover-node.test.ts", "recover"),
  ),
  "recover inspect": wrong(
    "nowhere",
    3,
    /Pass what etcd has as --data-dir/,
    onFiles("test/etcd/recover-inspect.test.ts"),
  ),
  "local up": wrong("--replicas many", 2, /must be a whole number/, UP),
  "local status": gone(LOCAL_ACTS),
  "local env": gone(LOCAL_ACTS),
  "local apply": wrong("", 2, /use -f <file>/, LOCAL_ACTS),
  "local scale": wrong("many", 2, /must be a whole number/, LOCAL_ACTS),
  "local upgrade": wrong("9.9.9 --name nosuch", 1, /Known versions: /, LOCAL_ACTS),
  "local approve": wrong("1f0c --name nosuch", 3, START, LOCAL_ACTS),
  "local plan": gone(LOCAL_ACTS, " --replicas 3"),
  "local why": gone(LOCAL_ACTS),
  "local logs": wrong("etcd-1 --name nosuch", 3, START, LOCAL_ACTS),
  "local kill": wrong("etcd-1 --name nosuch", 3, START, UP),
  // One implementation with another signal.
  "local stop": wrong("", 2, MEMBER, onMachine("test/local/up.test.ts", 'home.json("kill"')),
  "local wipe": wrong("", 2, MEMBER, UP),
  "local corrupt": wrong("", 2, MEMBER, UP),
  "local replace": wrong("", 2, MEMBER, LOCAL_ACTS),
  "local operation": wrong("", 2, /missing: create, list or delete/, LOCAL_ACTS),
  "local user": wrong("", 2, /missing: apply, list or delete/, LOCAL_ACTS),
  "local role": wrong("", 2, /missing: apply, list or delete/, LOCAL_ACTS),
  "local schedule": wrong("", 2, /missing: apply, list or delete/, LOCAL_ACTS),
  "local snapshot": wrong("", 2, /missing: apply, list or delete/, LOCAL_ACTS),
  "local fence": wrong("etcd-1 --nam nosuch", 2, /did you mean --name\?/, LOCAL_ACTS),
  "local unfence": wrong("", 2, MEMBER, LOCAL_ACTS),
  "local down": gone(LOCAL_ACTS),
  "local delete": gone(LOCAL_ACTS),
  etcd: wrong("instal 3.6", 2, /choose one of install, list or path .*did you mean install\?/, READS),
  operator: wrong(
    "--log-level loud",
    2,
    /use one of debug, info, warn, error/,
    elsewhere("it runs until it is told to end")("test/operator/rights.test.ts"),
  ),
  completion: wrong("tcsh", 2, /must be one of bash, zsh, fish, kubectl/, READS),
  version: wrong("--outputt", 2, /did you mean --output\?/, READS),
};

/** Verbs for both platforms that must succeed on this machine, too: what they do there is other code. */
const LOCALLY: Readonly<Record<string, readonly string[]>> = {
  [LOCAL_ACTS.program]: [
    "apply",
    "approve",
    "compact",
    "member replace",
    "operation cancel",
    "operation show",
    "restart",
    "top",
    "upgrade",
  ],
  [LOCAL_VERBS]: [
    "defrag",
    "hibernate",
    "leader move",
    "member fence",
    "member unfence",
    "operation list",
    "pause",
    "resume",
    "scale",
    "wake",
  ],
  "test/local/reading.test.ts": ["events", "list", "logs", "members", "plan", "status", "why"],
};

/** The verbs that this test file must call with success, through real kubectl or as the program on this machine. */
export function provenBy(file: string): readonly string[] {
  const isIt = (path: string) => file.endsWith(path);
  const own = Object.keys(PAIRS).filter((name) => {
    const right = PAIRS[name]?.right;
    if (right === undefined) return false;
    return "kubectl" in right ? isIt(right.kubectl) : "program" in right && isIt(right.program);
  });
  return [...own, ...Object.keys(LOCALLY).flatMap((path) => (isIt(path) ? (LOCALLY[path] ?? []) : []))];
}
