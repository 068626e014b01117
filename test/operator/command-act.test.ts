/**
 * The verbs that change something, called through real kubectl, on a real API server with a running operator: each once
 * with success, and once with a failure that says what to do.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { stringify } from "yaml";
import { API_VERSION } from "../../src/api/metadata.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { eventually } from "../../testbed/eventually.ts";
import { PATHS } from "../support/kube-paths.ts";
import { KubectlEtcd } from "../support/kubectl-etcd.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  SMALL,
  startOperator,
  upWithDefinitions,
  type Running,
} from "../support/operator.ts";

/** From which the cluster is upgraded to the version of all other tests. */
const BEFORE = "3.5.35";

let bed: TestTestbed;
let running: Running;
let demo: ClusterOnBed;
let kubectl: KubectlEtcd;

const done: KubectlEtcd["done"] = async (...call) => await kubectl.done(...call);
const refused: KubectlEtcd["refused"] = async (...call) => await kubectl.refused(...call);

function manifest(name: string, spec: object): string {
  const file = join(kubectl.folder, `${name}.yaml`);
  const object = {
    apiVersion: API_VERSION,
    kind: "EtcdCluster",
    metadata: { name },
    spec: { ...SMALL, ...spec },
  };
  writeFileSync(file, stringify(object));
  return file;
}

before(async () => {
  bed = await upWithDefinitions();
  kubectl = await KubectlEtcd.install(bed);
  running = startOperator(bed);
  demo = new ClusterOnBed(bed, "demo", running);
});

after(async () => {
  await demo?.close();
  await running?.stop();
  await bed?.down();
  kubectl?.[Symbol.dispose]();
});

test("apply creates a cluster and waits for it; a wrong manifest names the line, and nothing is written", async () => {
  await refused("apply", 2, /missing: -f/);
  writeFileSync(
    join(kubectl.folder, "bad.yaml"),
    `apiVersion: ${API_VERSION}\nkind: EtcdCluster\nmetadata: {name: demo}\nspec:\n  replica: 3\n`,
  );
  await refused("apply -f bad.yaml", 1, /bad\.yaml:5: spec\.replica.*did you mean "replicas"\?/);
  manifest("demo", { replicas: 1, version: BEFORE });
  await done("apply -f demo.yaml --dry-run", /Creating demo \(dry run: nothing was changed\)/);
  await done("apply -f demo.yaml", /^demo created: /);
  await done("apply -f demo.yaml", /^demo unchanged/);
});

test("scale waits with progress; a smaller size needs a confirmation", async () => {
  await refused("scale demo five", 2, /must be a whole number/);
  const { err } = await done("scale demo 3", /demo has 3 voting members: 1 of 3 voters may fail/);
  assert.match(err, /^\d\d:\d\d:\d\d {2}.*(?:joins|promot|learner|start|member)/m);
  await refused(
    "scale demo 1",
    6,
    /2 members are removed .*3 of 3 voters are healthy, quorum is 2.*add --yes/,
  );
  assert.equal((await demo.get()).spec.replicas, 3);
  await refused("scale demi 5", 3, /did you mean demo\?/);
});

test("upgrade names the path and takes it; one that etcd does not have changes nothing", async () => {
  await refused("upgrade demo 3.4.45 --yes", 1, /demo stays as it is: /);
  await done("upgrade demo 3.7 --dry-run", /Changing demo from etcd 3\.5\.35 to 3\.6\.16, then 3\.7\.\d+/);
  const { err } = await done("upgrade demo 3.6 --yes", /^demo runs etcd 3\.6\.16$/m);
  assert.match(err, /^\d\d:\d\d:\d\d {2}/m, "its steps are told");
  assert.equal((await demo.get()).spec.version, SMALL.version);
  const { version, members = [] } = await demo.status();
  assert.equal(version?.current, SMALL.version);
  assert.ok(members.every((member) => member.version === SMALL.version));
  await done("upgrade demo 3.6 --yes", /runs etcd 3\.6\.16 already/);
});

test("pause and resume", async () => {
  await refused("pause demo", 6, /failed members are not replaced until it is resumed/);
  await done("pause demo --yes", /demo is paused\. Resume it with: kubectl etcd resume demo/);
  await done("pause demo --yes", /is paused already/);
  await refused("scale demo 5", 1, /demo is paused: the change is recorded, .*kubectl etcd resume demo/);
  await refused("scale demo 3 --yes", 1, /demo is paused/);
  await done("resume demo", /demo is resumed: /);
  await done("resume demo", /is not paused/);
});

test("member fence moves leadership and unfence ends it", async () => {
  const { leader = "" } = await demo.status();
  await refused(`member fence ${leader.replace("demo", "dmo")}`, 3, new RegExp(`did you mean ${leader}\\?`));
  const { out } = await done(`member fence ${leader}`, new RegExp(`^${leader} is fenced; demo-\\d leads`));
  assert.doesNotMatch(out, new RegExp(`${leader} leads`));
  await done(`member fence ${leader}`, /is fenced already/);
  await done(`member unfence ${leader}`, /is no longer fenced/);
});

test("approve lists what waits and lets it go on; what nobody waits for is not written", async () => {
  await refused("approve demo 1f0c2a9b", 1, /nothing of demo waits for an approval.*kubectl etcd why demo/);
  manifest("demo", {
    replicas: 3,
    update: { strategy: "OnApproval" },
    options: { ...SMALL.options, logLevel: "Warn" },
  });
  await refused(
    "apply -f demo.yaml",
    1,
    /AwaitingApproval.*run kubectl etcd approve demo [0-9a-f]+ -n default/,
  );
  const { out } = await done("approve demo", /a rollout is ready/i);
  const [, word = ""] = /kubectl etcd approve demo ([0-9a-f]+)/.exec(out) ?? [];
  await refused("approve demo 00000000", 3, /no approval is named/);
  await done(`approve demo ${word}`, /is approved for demo/);
  await demo.converged(3);
});

test("hibernate and wake: the size is that of before", async () => {
  await refused("hibernate demo", 6, /all members stop, and clients are not served/);
  await done("wake demo", /is not hibernated: spec\.replicas is 3/);
  await done(
    "hibernate demo --yes",
    /demo is hibernated; its data is retained\. Wake it with: kubectl etcd wake demo/,
  );
  await done("pause demo --yes", /demo is paused/);
  await done("resume demo", /demo is resumed/);
  await done("wake demo", /demo is awake with 3 voting members/);
});

test("restart, defrag, compact, leader move and member replace run as operations, with their steps", async () => {
  await refused("restart demo-9 --yes", 3, /no member is named "demo-9" in cluster demo/);
  await refused("restart demo", 6, /one member at a time is down; 3 of 3 voters are healthy/);
  await refused("compact demo --revision 999999999 --yes", 1, /was rejected, and nothing was changed|failed/);
  const { err } = await done("defrag demo --yes");
  assert.match(err, /Defragmenting all voters of demo \(operation demo-defrag-[0-9a-f]{6}\)/);
  assert.ok(err.split("\n").length > 3, `its steps are told: ${err}`);
  const client = await demo.etcd();
  for (const value of ["1", "2", "3"]) await client.kv.put("key", value);
  await done("compact demo --retain 1 --yes");
  const { leader = "" } = await demo.status();
  await done("leader move demo");
  const isMoved = async () => {
    const { leader: now } = await demo.status();
    return now !== undefined && now !== leader;
  };
  await eventually("the status names the new leader", isMoved, { withinMs: PATIENCE_MS });
  await done("restart demo-2 --yes");
  await done("member replace demo-1 --yes");
  assert.ok(!(await demo.list(PATHS.members)).includes("demo-1"));
  await done("operation list demo", /restart +Succeeded/);
});

test("operation show tells the steps, and only one that waits can be cancelled", async () => {
  const { out } = await done("operation list -o json");
  const operations = JSON.parse(out) as { metadata: { name: string } }[];
  const name =
    operations.find(({ metadata }) => metadata.name.startsWith("demo-restart"))?.metadata.name ?? "";
  await done(`operation show ${name}`, /Succeeded.*\n(?:.*\n)*Steps:/);
  await refused(`operation cancel ${name}`, 1, /has ended \(Succeeded\)/);
  await refused("operation show demo-restart-zzz", 3, /no operation is named/);
  await done("pause demo --yes", /paused/);
  const { out: created } = await done(
    "restart demo --yes --no-wait",
    /operation demo-restart-[0-9a-f]{6} created/,
  );
  const [, waiting = ""] = /operation (demo-restart-[0-9a-f]{6}) created/.exec(created) ?? [];
  await done(`operation cancel ${waiting}`, /is cancelled/);
  await done("resume demo", /resumed/);
});

test("every verb that is proven here was called through kubectl, with success and with a failure", async () => {
  await kubectl.assertProven(import.meta.filename);
});
