/**
 * Every verb once with a failure that says what to do, here, and once with success, in the test that is named. A verb
 * without such a pair fails this test. Failures that take a Kubernetes cluster are in test/operator/command*.test.ts.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { dispatch } from "./dispatch.ts";
import { collectingIo } from "./testing.ts";
import { everyVerb } from "./testing/every-verb.ts";
import { verbs } from "./verbs.ts";

interface Pair {
  /** What follows the verb, in an empty home directory without a kubeconfig. */
  readonly wrong: string;
  readonly code: number;
  readonly says: RegExp;
  /** The test file with its success; the last word of the verb is in it, or what follows `#`. */
  readonly right: string;
}

const START = /Start one with: quorate local up/;
const MEMBER = /missing: <member>/;
const NO_SNAPSHOT = /there is no snapshot .*List what there is: quorate snapshot ls/;
const [READS, ACTS] = ["test/operator/command.test.ts", "test/operator/command-act.test.ts"];
const SNAPSHOTS = "src/cli/verbs/snapshot/verbs.test.ts";
const [UP, LOCAL] = ["test/local/up.test.ts", "test/local/command.test.ts"];

/** Of a cluster that does not exist on this machine. */
const none = (right: string, more = ""): Pair => ({
  wrong: `nosuch${more} --local`,
  code: 3,
  says: START,
  right,
});
const wrong = (words: string, code: number, says: RegExp, right: string): Pair => ({
  wrong: words,
  code,
  says,
  right,
});
const gone = (right: string, more = ""): Pair => wrong(`--name nosuch${more}`, 1, START, right);

const PAIRS: Readonly<Record<string, Pair>> = {
  status: none(READS),
  list: wrong("--local nosuch", 2, /too many arguments: nosuch.*quorate list --help/, READS),
  members: none(READS),
  why: none(READS),
  plan: none(READS, " --replicas 3"),
  events: none(READS),
  logs: none("test/local/reading.test.ts"),
  top: none(READS),
  etcdctl: wrong("nosuch --local -- member list", 3, START, "test/local/reach.test.ts"),
  shell: none("test/local/reach.test.ts"),
  report: none("test/local/reach.test.ts"),
  "certificate issue": wrong("bob --dir nowhere", 3, START, "test/local/auth.test.ts"),
  "certificate show": none("test/operator/on-nodes/reach.test.ts"),
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
  "member erase": wrong("nowhere --uid 1", 6, /add --yes to confirm/, "src/cli/verbs/member-erase.test.ts"),
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
    "test/etcd/snapshot-save.test.ts",
  ),
  "snapshot follow": wrong(
    "nowhere/",
    2,
    /no endpoint: pass --endpoints/,
    "test/etcd/point-in-time.test.ts#running = follow(",
  ),
  "snapshot build": wrong("nowhere/ x.db", 3, /check the path/, "test/etcd/point-in-time.test.ts"),
  "snapshot build-fetch": wrong(
    "--scratch-dir s --endpoint http://127.0.0.1:1 nowhere/",
    2,
    /--etcd-version is needed/,
    "test/operator/snapshots.test.ts#pointInTime",
  ),
  "snapshot build-replay": wrong(
    "--scratch-dir s --endpoint http://127.0.0.1:1 nowhere/",
    2,
    /--id is needed/,
    "test/operator/snapshots.test.ts#pointInTime",
  ),
  "snapshot ls": wrong("nowhere/", 3, /check the path/, SNAPSHOTS),
  "snapshot status": wrong("nowhere.db", 3, NO_SNAPSHOT, SNAPSHOTS),
  "snapshot get": wrong("nowhere.db x.db", 3, NO_SNAPSHOT, SNAPSHOTS),
  "snapshot copy": wrong("nowhere.db x/", 3, NO_SNAPSHOT, "test/etcd/snapshot-s3.test.ts"),
  "snapshot verify": wrong("nowhere.db", 3, NO_SNAPSHOT, SNAPSHOTS),
  "snapshot verify-fetch": wrong(
    "--scratch-dir s --endpoint http://127.0.0.1:1 nowhere.db",
    1,
    /Use another snapshot/,
    "test/operator/snapshots.test.ts#verifiedAt",
  ),
  "snapshot verify-compare": wrong(
    "--scratch-dir s --endpoint http://127.0.0.1:1",
    1,
    /nothing was fetched; run snapshot verify-fetch first/,
    "test/operator/snapshots.test.ts#verifiedAt",
  ),
  "snapshot verify-here": wrong(
    "nowhere.db",
    2,
    /--scratch-dir and --etcd-version are needed/,
    "test/local/snapshots.test.ts#erif",
  ),
  "snapshot import": wrong("nowhere.db x/", 3, NO_SNAPSHOT, SNAPSHOTS),
  "snapshot delete": wrong("nowhere/", 2, /name the snapshot with --id/, SNAPSHOTS),
  "snapshot stage": wrong(
    "nowhere --etcd-version 3.6.16",
    2,
    /QUORATE_RESTORE is not set: it has to hold/,
    "test/operator/restore.test.ts#RESTORE_CONTAINERS",
  ),
  "snapshot place": wrong(
    "nowhere",
    1,
    /etcdutl did not finish/,
    "test/operator/restore.test.ts#RESTORE_CONTAINERS",
  ),
  "snapshot prune": wrong("nowhere/", 2, /pass --keep-last or one of --hourly/, SNAPSHOTS),
  restore: wrong("nowhere.db nosuch --local", 3, START, "test/local/restore-in-place.test.ts"),
  "recover quorum": none("test/local/recover.test.ts"),
  "recover copy": wrong("nowhere", 2, /--term is missing/, "test/operator/recover.test.ts#recover"),
  "recover save": wrong("nowhere", 2, /--plan is missing/, "test/operator/recover.test.ts#recover"),
  "recover node": wrong(
    "nowhere",
    3,
    /Pass the directory of a member/,
    "test/etcd/recover-node.test.ts#recover",
  ),
  "recover inspect": wrong(
    "nowhere",
    3,
    /Pass what etcd has as --data-dir/,
    "test/etcd/recover-inspect.test.ts",
  ),
  "local up": wrong("--replicas many", 2, /must be a whole number/, UP),
  "local status": gone("test/local/input.test.ts"),
  "local env": gone(UP),
  "local apply": wrong("", 2, /use -f <file>/, "test/local/input.test.ts"),
  "local scale": wrong("many", 2, /must be a whole number/, "test/local/input.test.ts"),
  "local upgrade": wrong("9.9.9 --name nosuch", 1, /Known versions: /, "test/local/input.test.ts"),
  "local approve": wrong("1f0c --name nosuch", 1, START, "test/local/why.test.ts"),
  "local plan": gone(UP, " --replicas 3"),
  "local why": gone(UP),
  "local logs": wrong("--name nosuch", 2, MEMBER, UP),
  "local kill": wrong("", 2, MEMBER, UP),
  // One implementation with another signal.
  "local stop": wrong("", 2, MEMBER, `${UP}#home.json("kill"`),
  "local wipe": wrong("", 2, MEMBER, UP),
  "local corrupt": wrong("", 2, MEMBER, UP),
  "local replace": wrong("", 2, MEMBER, "test/local/operations.test.ts"),
  "local operation": wrong("", 2, /missing: create, list or delete/, "test/local/operations.test.ts"),
  "local user": wrong("", 2, /missing: apply, list or delete/, "test/local/auth.test.ts"),
  "local role": wrong("", 2, /missing: apply, list or delete/, "test/local/auth.test.ts"),
  "local schedule": wrong("", 2, /missing: apply, list or delete/, "test/local/snapshots.test.ts#chedule"),
  "local snapshot": wrong("", 2, /missing: apply, list or delete/, "test/local/snapshots.test.ts#napshot"),
  "local fence": wrong("", 2, MEMBER, LOCAL),
  "local unfence": wrong("", 2, MEMBER, LOCAL),
  "local down": gone(UP),
  "local delete": gone(UP),
  etcd: wrong("nosuch", 2, /choose one of install, list or path/, "test/etcd/install/install.test.ts"),
  operator: wrong(
    "--log-level loud",
    2,
    /use one of debug, info, warn, error/,
    "test/operator/rights.test.ts",
  ),
  completion: wrong("tcsh", 2, /must be one of bash, zsh, fish, kubectl/, "src/cli/verbs.test.ts"),
  version: wrong("--outputt", 2, /did you mean --output\?/, "src/cli/dispatch.test.ts"),
};

const ROOT = path.join(import.meta.dirname, "..", "..");
let folder: string;

before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "quorate-pairs-"));
});

after(() => rmSync(folder, { recursive: true, force: true }));

async function leaves(): Promise<string[]> {
  const names: string[] = [];
  for await (const { name, verb } of everyVerb(verbs))
    if (!verb.verbs && name !== "__complete") names.push(name); // Asked by shells, which show no error.
  return names;
}

test("every verb has a failure that says what to do, and a test of its success", async () => {
  const without = (await leaves()).filter((name) => PAIRS[name] === undefined);
  assert.deepEqual(without, []);
});

for (const name of await leaves()) {
  const pair = PAIRS[name];
  if (pair === undefined) continue; // Reported above.
  const { wrong: words, code, says, right } = pair;
  test(`${name}: a failure says what to do`, async () => {
    const env = { KUBECONFIG: path.join(folder, "none"), HOME: folder };
    const io = collectingIo({ env, cwd: folder, command: "quorate" });
    const argv = `${name} ${words}`.trim().split(" ");
    assert.equal(await dispatch(argv, verbs, "0.0.0", io), code, io.err());
    assert.match(io.err(), says);
    assert.equal(io.out(), "");
  });

  test(`${name}: its success is in ${right}`, () => {
    const [file = "", needle] = right.split("#");
    const text = readFileSync(path.join(ROOT, file), "utf8");
    const word = name.split(" ").at(-1) ?? "";
    const isCalled =
      needle === undefined ? new RegExp(`["'\` ]${word}["'\` ]`).test(text) : text.includes(needle);
    assert.ok(isCalled, `${file} does not call ${name}`);
  });
}
