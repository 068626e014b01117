/**
 * Clusters as people reach them, on a real node: from a machine outside through port-forwards of the real API server and
 * kubelet, and from a plain Pod through the client Service. Certificates are checked in full each time.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Pod, Secret } from "kubernetes-types/core/v1.d.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../../testbed/for-tests.ts";
import { kubeconfigText } from "../../../testbed/kubeconfig.ts";
import type { EtcdUser } from "../../../src/api/etcd-user.ts";
import { etcdOf } from "../../support/etcd-cluster.ts";
import { PATHS } from "../../support/kube-paths.ts";
import { KubectlEtcd } from "../../support/kubectl-etcd.ts";
import { EVERY_CASE } from "../../support/sample.ts";
import { Lab } from "../../testbed/on-nodes/lab.ts";
import { run } from "../../testbed/on-nodes/support.ts";
import { etcdOf as etcdIn } from "./empty-start.ts";
import { passwordOf } from "../../support/passwords.ts";

const PATIENCE = { withinMs: 120_000, everyMs: 200 };
const VERSION = "3.6.16";
/** A CA is rotated in it, with every case: kubelets bring Secrets to a running Pod about once a minute. */
const LONG = { timeout: (EVERY_CASE ? 20 : 5) * 60_000 };

let bed: TestTestbed;
let lab: Lab;
let kubectl: KubectlEtcd;
let etcdctl: string;
const folder = mkdtempSync(join(tmpdir(), "quorate-reach-"));
const runtime = join(folder, "runtime");

before(async () => {
  mkdirSync(runtime, { mode: 0o700 });
  ({ etcdctl } = await etcdOf(VERSION));
  bed = await upForTests({ nodes: 1 });
  kubectl = await KubectlEtcd.install(bed);
  lab = new Lab(bed.name);
  await lab.call("define");
  await lab.call("startOperator");
  const memory = { storage: { medium: "Ephemeral", size: "512Mi" }, options: { quotaBackendBytes: "64Mi" } };
  await lab.call("create", "demo", { replicas: 3, version: VERSION, ...memory });
  await lab.call("converged", "demo", 3);
});

after(async () => {
  await lab?.end();
  await bed?.down();
  kubectl?.[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** With the kubeconfig of the testbed or another; all that it says is one text. */
async function kubectlEtcd(args: string[], kubeconfig = bed.kubeconfig, input = "") {
  const { code, out, err } = await kubectl.run(args, {
    kubeconfig,
    input,
    env: { XDG_RUNTIME_DIR: runtime },
  });
  return { code, out: out + err };
}

test("etcdctl lists the members through port-forwards, and leaves no key behind", async () => {
  const listed = await kubectlEtcd(["etcdctl", "demo", "--etcdctl", etcdctl, "--", "member", "list"]);
  assert.equal(listed.code, 0, listed.out);
  assert.equal(listed.out.match(/, started, demo-\d, /g)?.length, 3, listed.out);
  assert.deepEqual(readdirSync(runtime), []);
});

test("the built-in client reads what etcdctl wrote, and every member answers", async () => {
  const big = "x".repeat(100_000);
  const put = await kubectlEtcd(["etcdctl", "demo", "--etcdctl", etcdctl, "--", "put", "reached", big]);
  assert.equal(put.out, "OK\n");
  const got = await kubectlEtcd([
    "etcdctl",
    "demo",
    "--built-in",
    "--",
    "get",
    "reached",
    "--print-value-only",
  ]);
  assert.equal(got.out, `${big}\n`);
  const health = await kubectlEtcd(["etcdctl", "demo", "--built-in", "--", "endpoint", "health"]);
  assert.equal(health.out.match(/demo-\d, true, /g)?.length, 3, health.out);
});

test("a shell takes one command a line over the same port-forwards, and one with etcdctl finds the cluster", async () => {
  const prompt = await kubectlEtcd(
    ["shell", "demo", "--built-in"],
    bed.kubeconfig,
    "put typed yes\nnonsense\nget typed\nexit\n",
  );
  assert.equal(prompt.code, 0, prompt.out);
  assert.match(prompt.out, /^OK\ntyped\nyes\n[^]*unknown command "nonsense"/);
  const shell = await kubectlEtcd(
    ["shell", "demo", "--etcdctl", etcdctl],
    bed.kubeconfig,
    "etcdctl get --print-value-only typed; etcdctl member list\n",
  );
  assert.equal(shell.code, 0, shell.out);
  assert.match(shell.out, /^yes$/m);
  assert.equal(shell.out.match(/, started, demo-\d, /g)?.length, 3, shell.out);
  assert.deepEqual(readdirSync(runtime), []);
});

test("certificates are shown from Secrets", async () => {
  const shown = await kubectlEtcd(["certificate", "show", "demo", "-o", "wide"]);
  assert.equal(shown.code, 0, shown.out);
  assert.match(shown.out, /^demo-1\/server\.pem .* demo-client\.default\.svc /m);
  assert.doesNotMatch(shown.out, /PRIVATE KEY/);
});

test("a report has the cluster, its Pods and logs, and no key", async () => {
  const file = join(folder, "report.tar.gz");
  const made = await kubectlEtcd(["report", "demo", "-f", file]);
  assert.equal(made.code, 0, made.out);
  const unpacked = (await run("tar", ["-xzOf", file])).out;
  const { out: names } = await run("tar", ["-tzf", file]);
  for (const part of [
    "why.txt",
    "cluster.yaml",
    "pods.yaml",
    "events.txt",
    "logs/demo-1.log",
    "kubernetes.yaml",
  ])
    assert.match(names, new RegExp(`^demo-report-\\w+/${part}$`, "m"));
  assert.match(unpacked, /"msg":"/, "a line of etcd's log");
  assert.doesNotMatch(unpacked, /PRIVATE KEY|LS0tLS1CRUdJTi/);
});

test("logs are those of all members in order of time, of one of them, by level, and from before a restart", async () => {
  interface Line {
    readonly member: string;
    readonly at: string;
    readonly level?: string;
    readonly message?: string;
  }
  const logs = async (...more: string[]) => {
    const { code, out } = await kubectlEtcd(["logs", "demo", "-o", "json", ...more]);
    assert.equal(code, 0, out);
    return out
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Line);
  };
  const all = await logs("--lines", "1000");
  assert.deepEqual([...new Set(all.map(({ member }) => member))].toSorted(), ["demo-1", "demo-2", "demo-3"]);
  const times = all.map(({ at }) => Date.parse(at));
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
  assert.ok(all.some(({ message }) => message === "ready to serve client requests"));
  const some = await logs("-m", "demo-2", "--lines", "5");
  assert.deepEqual([some.length, ...new Set(some.map(({ member }) => member))], [5, "demo-2"]);
  const warnings = await logs("--level", "warn", "--lines", "1000");
  assert.ok(warnings.length < all.length && warnings.every(({ level }) => level !== "info"));
  const never = await kubectlEtcd(["logs", "demo", "-m", "demo-2", "--previous"]);
  assert.match(never.out, /demo-2  no log: its container has not been restarted/);

  const { metadata } = await bed.client.get<Pod>(`${PATHS.pods}/demo-2`);
  const pid = etcdIn(metadata?.uid ?? "");
  assert.ok(pid);
  process.kill(pid, "SIGKILL");
  const restarted = async () => {
    const { status } = await bed.client.get<Pod>(`${PATHS.pods}/demo-2`);
    const [container] = status?.containerStatuses ?? [];
    return container?.restartCount === 1 && container.state?.running !== undefined;
  };
  await eventually("the kubelet restarts it", restarted, PATIENCE);
  const previous = await logs("-m", "demo-2", "--previous", "--lines", "1000");
  const before = all.filter(({ member }) => member === "demo-2");
  assert.deepEqual(previous.slice(0, before.length), before);
  await lab.call("converged", "demo", 3);
});

test("a Pod that is gone is named and left out, and the others answer", async () => {
  await lab.call("edit", "demo", { paused: true });
  await bed.client.delete(`${PATHS.pods}/demo-1`);
  const gone = async () =>
    await bed.client.get<Pod>(`${PATHS.pods}/demo-1`).then(
      () => false,
      () => true,
    );
  await eventually("demo-1 is gone", gone, PATIENCE);
  const got = await kubectlEtcd(["etcdctl", "demo", "--built-in", "--", "get", "none"]);
  assert.equal(got.code, 0, got.out);
  assert.match(got.out, /Warning: demo-1: its Pod does not exist/);
  await lab.call("edit", "demo", { paused: false });
  await lab.call("converged", "demo", 3);
});

test("without the right to it, the missing right is named", async () => {
  const namespaced = (kind: string) => `/apis/rbac.authorization.k8s.io/v1/namespaces/default/${kind}`;
  await bed.client.create("/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "viewer" } });
  const rules = [
    { apiGroups: ["etcd.quorate.dev"], resources: ["*"], verbs: ["get", "list"] },
    { apiGroups: [""], resources: ["secrets"], resourceNames: ["demo-client-tls"], verbs: ["get"] },
  ];
  await bed.client.create(namespaced("roles"), { metadata: { name: "viewer" }, rules });
  await bed.client.create(namespaced("rolebindings"), {
    metadata: { name: "viewer" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "viewer" },
    subjects: [{ kind: "ServiceAccount", name: "viewer", namespace: "default" }],
  });
  const { status } = await bed.client.create<{ spec: object; status?: { token: string } }>(
    "/api/v1/namespaces/default/serviceaccounts/viewer/token",
    { spec: { expirationSeconds: 600 } },
  );
  const file = join(folder, "viewer");
  const access = { server: bed.access.server, ca: bed.access.ca ?? "", token: status?.token ?? "" };
  writeFileSync(file, kubeconfigText("viewer", access));
  const refused = await kubectlEtcd(["etcdctl", "demo", "--built-in", "--", "get", "a"], file);
  assert.equal(refused.code, 4, refused.out);
  assert.match(
    refused.out,
    /you may not create pods\/portforward in namespace default: .* Ask for that right/,
  );
  const unread = await kubectlEtcd(["logs", "demo"], file);
  assert.equal(unread.code, 4, unread.out);
  assert.match(unread.out, /you may not get pods\/log in namespace default: .* Ask for that right/);
  const partly = await kubectlEtcd(["certificate", "show", "demo"], file);
  assert.equal(partly.code, 0, partly.out);
  assert.match(partly.out, /^Not shown: demo-operator \(you may not get this Secret\)/m);
});

/** A Pod of the cluster's users: the published Secret, the client's program, and nothing else. */
async function fromAPod(name: string, endpoint: string, ...words: readonly string[]): Promise<void> {
  const { spec } = await bed.client.get<Pod>(`${PATHS.pods}/demo-2`);
  const tls = ["--cacert=/tls/ca.crt", "--cert=/tls/tls.crt", "--key=/tls/tls.key"];
  await bed.client.create(PATHS.pods, {
    metadata: { name },
    spec: {
      restartPolicy: "Never",
      containers: [
        {
          name: "client",
          image: spec?.containers[0]?.image,
          command: ["/usr/local/bin/etcdctl", `--endpoints=${endpoint}`, ...tls, ...words],
          volumeMounts: [{ name: "tls", mountPath: "/tls", readOnly: true }],
        },
      ],
      volumes: [{ name: "tls", secret: { secretName: "demo-client-tls" } }],
    },
  });
  const ended = async () => {
    const { status } = await bed.client.get<Pod>(`${PATHS.pods}/${name}`);
    return status?.phase === "Succeeded" || status?.phase === "Failed" ? status : undefined;
  };
  const { phase } = await eventually(`${name} has ended`, ended, PATIENCE);
  assert.equal(phase, "Succeeded", `${endpoint}: etcdctl ${words.join(" ")} failed`);
}

async function writtenFromAPod(name: string, endpoint: string): Promise<void> {
  await fromAPod(name, endpoint, "put", name, "yes");
  const got = await kubectlEtcd(["etcdctl", "demo", "--built-in", "--", "get", name, "--print-value-only"]);
  assert.equal(got.out, "yes\n");
}

test("a plain Pod with the published Secret writes through the client Service and the cluster's own name", async () => {
  await writtenFromAPod("through-client", "https://demo-client:2379");
  await writtenFromAPod("through-full-name", "https://demo-client.default.svc:2379");
  await writtenFromAPod("through-own-name", "https://demo:2379");
  // Another service of etcd, by the same certificate and name.
  await fromAPod("list-through-client", "https://demo-client:2379", "member", "list");
  await fromAPod("list-through-full-name", "https://demo-client.default.svc:2379", "member", "list");
  await fromAPod("list-through-own-name", "https://demo:2379", "member", "list");
});

test("clients without a right certificate, in plaintext and by old TLS are refused on both ports", async () => {
  assert.deepEqual(await lab.call("servedStrangers", "demo"), []);
});

test("users by certificate and by password may do what their roles say", LONG, async () => {
  const ours = (plural: string) => `/apis/etcd.quorate.dev/v1alpha1/namespaces/default/${plural}`;
  const password = passwordOf("application");
  const data = { password: Buffer.from(password).toString("base64") };
  await bed.client.create(PATHS.secrets, { metadata: { name: "bill-password" }, data });
  const object = (kind: string, name: string, spec: object) => ({
    apiVersion: "etcd.quorate.dev/v1alpha1",
    kind,
    metadata: { name },
    spec: { cluster: "demo", ...spec },
  });
  const permissions = [{ access: "ReadWrite", key: "orders/", prefix: true }];
  await bed.client.create(ours("etcdroles"), object("EtcdRole", "orders", { permissions }));
  const roles = ["orders"];
  await bed.client.create(ours("etcdusers"), object("EtcdUser", "anna", { roles, certificate: {} }));
  const bill = object("EtcdUser", "bill", { roles, passwordSecret: "bill-password" });
  await bed.client.create(ours("etcdusers"), bill);
  await lab.call("edit", "demo", { auth: { enabled: true, clientRoles: [] } });
  for (const user of ["anna", "bill"])
    await eventually(
      `${user} is ready`,
      async () => {
        const { status } = await bed.client.get<EtcdUser>(`${ours("etcdusers")}/${user}`);
        return status?.conditions?.some((one) => one.type === "Ready" && one.status === "True");
      },
      PATIENCE,
    );
  const published = "demo-client-tls";
  const login = { user: "bill", password };
  const judge = async () => {
    assert.equal(await lab.call("putAs", "demo", "anna-etcd-tls", "orders/1"), "written");
    assert.equal(await lab.call("putAs", "demo", "anna-etcd-tls", "other"), "permission-denied");
    assert.equal(await lab.call("putAs", "demo", published, "orders/2", login), "written");
    assert.equal(await lab.call("putAs", "demo", published, "other", login), "permission-denied");
    assert.equal(await lab.call("putAs", "demo", published, "orders/3"), "permission-denied");
  };
  await judge();
  await lab.call("converged", "demo", 3);
  if (!EVERY_CASE) return;
  const caOf = async () =>
    (await bed.client.get<Secret>(`${PATHS.secrets}/demo-client-ca`)).data?.["tls.crt"];
  const before = await caOf();
  await lab.call("edit", "demo", { tls: { rotation: { soak: "1s" } } });
  await lab.call("ask", "demo", "rotate", { rotateCertificates: { ca: true } });
  await lab.call("operationIs", "demo", "rotate", "Succeeded");
  assert.notEqual(await caOf(), before);
  await judge();
});

test("every verb that is proven here was called through kubectl, with success and with a failure", async () => {
  await kubectl.assertProven(import.meta.filename);
});
