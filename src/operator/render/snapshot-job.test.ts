import assert from "node:assert/strict";
import { test } from "node:test";
import { snapshotNamed } from "../../core/testing/snapshots.ts";
import { selectorOf } from "./metadata.ts";
import { snapshotJob } from "./snapshot-job.ts";

const WISHES = {
  namespace: "prod",
  image: "quorate:1",
  task: "save",
  attempt: 1,
  secret: "demo-snapshot-tls",
  endpoints: ["https://demo-1.demo-peers.prod.svc:2379", "https://demo-2.demo-peers.prod.svc:2379"],
} as const;

const FULL = snapshotNamed("nightly", {
  spec: {
    destination: {
      s3: {
        bucket: "backups",
        prefix: "prod",
        endpoint: "https://minio:9000",
        region: "eu",
        pathStyle: true,
        credentialsSecret: "credentials",
        caSecret: "minio-ca",
        sse: "aws:kms",
        kmsKey: "arn",
      },
    },
    compression: "Zstd",
    encryption: { keySecret: "key" },
    activeDeadlineSeconds: 100,
  },
});

function partsOf(job: ReturnType<typeof snapshotJob>) {
  const pod = job.spec?.template.spec;
  const [container] = pod?.containers ?? [];
  assert.ok(pod && container);
  return { pod, container, args: container.args ?? [], env: container.env ?? [] };
}

test("the Job of a snapshot runs the command that a person would, with the client certificate of its own", () => {
  const { pod, args, env } = partsOf(snapshotJob(FULL, { ...WISHES, hashKv: true }));
  const expected = [
    "snapshot save --listen [::]:2381 --hash-kv --compress --encrypt --id nightly-nightly-0000-uid --result-file /dev/termination-log",
    `--endpoints ${WISHES.endpoints.join(",")}`,
    "--cacert /etc/quorate/etcd/ca.crt --cert /etc/quorate/etcd/tls.crt --key /etc/quorate/etcd/tls.key",
    "--encryption-key-file /etc/quorate/encryption/key",
    "--s3-endpoint https://minio:9000 --s3-region eu --s3-path-style --s3-ca-file /etc/quorate/store-ca/ca.crt",
    "--s3-sse aws:kms --s3-kms-key arn s3://backups/prod/",
  ];
  assert.equal(args.join(" "), expected.join(" "));
  const unverified = partsOf(snapshotJob(FULL, WISHES)).args;
  assert.deepEqual(
    unverified,
    args.filter((arg) => arg !== "--hash-kv"),
    "the member reads its data once more only where somebody compares",
  );
  const told = partsOf(snapshotJob(FULL, { ...WISHES, life: { token: "uid-2", life: 2 } })).args.join(" ");
  assert.match(told, /^snapshot save --listen \[::\]:2381 --cluster-token uid-2 --cluster-life 2 --compress/);
  assert.deepEqual(
    env.map(({ name, valueFrom }) => [
      name,
      valueFrom?.secretKeyRef?.name,
      valueFrom?.secretKeyRef?.optional,
    ]),
    [
      ["AWS_ACCESS_KEY_ID", "credentials", undefined],
      ["AWS_SECRET_ACCESS_KEY", "credentials", undefined],
      ["AWS_SESSION_TOKEN", "credentials", true],
    ],
  );
  assert.deepEqual(
    pod.volumes?.map(({ secret }) => secret?.secretName),
    ["demo-snapshot-tls", "key", "minio-ca"],
  );
});

test("it has a deadline, ends at once on what another attempt would end with, and is kept for a day", () => {
  const { spec } = snapshotJob(FULL, WISHES);
  assert.deepEqual(
    [spec?.activeDeadlineSeconds, spec?.backoffLimit, spec?.ttlSecondsAfterFinished],
    [100, 3, 86_400],
  );
  const codes = spec?.podFailurePolicy?.rules.flatMap(({ onExitCodes }) => onExitCodes?.values ?? []);
  assert.deepEqual(codes, [2, 4]);
  assert.equal(snapshotJob(snapshotNamed("a"), WISHES).spec?.activeDeadlineSeconds, 21_600);
});

test("it has no token, no rights, the restricted profile, and no label that a selector of the cluster meets", () => {
  const job = snapshotJob(FULL, WISHES);
  const { pod, container } = partsOf(job);
  assert.deepEqual(
    [pod.automountServiceAccountToken, pod.serviceAccountName, pod.restartPolicy],
    [false, "quorate-snapshot", "Never"],
  );
  assert.equal(pod.securityContext?.runAsNonRoot, true);
  assert.equal(container.securityContext?.readOnlyRootFilesystem, true);
  const labels = job.spec?.template.metadata?.labels ?? {};
  const selected = selectorOf({ name: "demo", namespace: "prod", uid: "u" }, "all");
  assert.notEqual(labels["app.kubernetes.io/component"], selected["app.kubernetes.io/component"]);
});

test("a deletion needs the store alone: neither etcd nor the key", () => {
  const { pod, args } = partsOf(snapshotJob(FULL, { ...WISHES, task: "delete", attempt: 2, endpoints: [] }));
  assert.deepEqual(args.slice(0, 4), ["snapshot", "delete", "--id", "nightly-nightly-0000-uid"]);
  assert.ok(!args.includes("--endpoints") && !args.includes("--encryption-key-file"));
  assert.deepEqual(
    pod.volumes?.map(({ name }) => name),
    ["store-ca"],
  );
});

test("a volume is mounted, and a cluster without TLS is dialled without a certificate", () => {
  const snapshot = snapshotNamed("a", { spec: { destination: { pvc: { claimName: "backups" } } } });
  const { pod, args } = partsOf(
    snapshotJob(snapshot, { ...WISHES, endpoints: ["http://demo-1:2379"], secret: undefined }),
  );
  assert.equal(args.at(-1), "file:///snapshots/");
  assert.ok(!args.includes("--cert"));
  assert.deepEqual(pod.volumes, [{ name: "snapshots", persistentVolumeClaim: { claimName: "backups" } }]);
});

test("no variable of the Job's Pod is expanded in what a spec says", () => {
  for (const task of ["save", "delete"] as const) {
    const s3 = {
      bucket: "b",
      prefix: "$(C)",
      endpoint: "http://$(AWS_SECRET_ACCESS_KEY).example",
      region: "$(R)",
    };
    const evil = snapshotNamed("nightly", { spec: { destination: { s3 } } });
    const { args } = partsOf(snapshotJob(evil, { ...WISHES, task }));
    assert.ok(args.includes("http://$$(AWS_SECRET_ACCESS_KEY).example"));
    assert.ok(args.includes("s3://b/$$(C)/"));
    assert.doesNotMatch(args.join(" ").replaceAll("$$", ""), /\$/);
  }
});

test("where the bucket is in requests is as the spec says, and left to the command where it says nothing", () => {
  const flagsOf = (style: { pathStyle?: boolean }) => {
    const spec = { destination: { s3: { bucket: "b", ...style } } };
    const { args } = partsOf(snapshotJob(snapshotNamed("nightly", { spec }), WISHES));
    return args.filter((arg) => /style|host$/.test(arg));
  };
  assert.deepEqual(flagsOf({ pathStyle: true }), ["--s3-path-style"]);
  assert.deepEqual(flagsOf({ pathStyle: false }), ["--s3-virtual-host"]);
  assert.deepEqual(flagsOf({}), []);
});

test("Google Cloud Storage: the key file of a service account is mounted and named by a variable", () => {
  const gcs = {
    bucket: "backups",
    prefix: "prod",
    endpoint: "https://gcs:4443",
    credentialsSecret: "google",
    caSecret: "gcs-ca",
    kmsKey: "projects/p/key",
  };
  const { args, env, pod, container } = partsOf(
    snapshotJob(snapshotNamed("a", { spec: { destination: { gcs } } }), WISHES),
  );
  assert.match(
    args.join(" "),
    /--gcs-endpoint https:\/\/gcs:4443 --gcs-ca-file \/etc\/quorate\/store-ca\/ca.crt --gcs-kms-key projects\/p\/key gs:\/\/backups\/prod\/$/,
  );
  const file = "/etc/quorate/store-credentials/credentials.json";
  assert.deepEqual(env, [{ name: "GOOGLE_APPLICATION_CREDENTIALS", value: file }]);
  assert.deepEqual(pod.volumes?.find(({ name }) => name === "store-credentials")?.secret, {
    secretName: "google",
    defaultMode: 0o440,
    items: [{ key: "credentials.json", path: "credentials.json" }],
  });
  assert.ok(container.volumeMounts?.every(({ readOnly }) => readOnly));
});

test("Azure: key or signature are read from the mounted Secret; without one the Pod asks for its workload identity", () => {
  const azure = {
    account: "acc",
    container: "backups",
    endpoint: "https://azurite/acc",
    encryptionScope: "s-1",
  };
  const jobOf = (more: object) =>
    snapshotJob(snapshotNamed("a", { spec: { destination: { azure: { ...azure, ...more } } } }), WISHES);
  const { args, env, pod } = partsOf(jobOf({ credentialsSecret: "azure" }));
  assert.match(
    args.join(" "),
    /--azure-account acc --azure-endpoint https:\/\/azurite\/acc --azure-encryption-scope s-1 --azure-credentials-dir \/etc\/quorate\/store-credentials azblob:\/\/backups\/$/,
  );
  assert.deepEqual(env, []);
  assert.equal(pod.volumes?.find(({ name }) => name === "store-credentials")?.secret?.secretName, "azure");
  const label = (job: ReturnType<typeof jobOf>) =>
    job.spec?.template.metadata?.labels?.["azure.workload.identity/use"];
  assert.equal(label(jobOf({ credentialsSecret: "azure" })), undefined);
  assert.equal(label(jobOf({})), "true");
});

test("a verification fetches with our image, restores and serves with etcd's of its version, and compares", () => {
  const etcd = { image: "mirror/etcd:v3.6.16", pullPolicy: "Always", pullSecrets: ["registry"] };
  const status = {
    uri: "s3://backups/prod/nightly-1.db",
    sha256: "f".repeat(64),
    etcdVersion: "3.6.16",
    size: 1_000,
  };
  const job = snapshotJob({ ...FULL, status }, { ...WISHES, task: "verify", endpoints: [], etcd });
  const { pod, args } = partsOf(job);
  const [fetch, etcdutl, server] = pod.initContainers ?? [];
  assert.deepEqual(
    [fetch, etcdutl, server, pod.containers[0]].map((one) => [one?.name, one?.image]),
    [
      ["fetch-snapshot", "quorate:1"],
      ["restore-snapshot", etcd.image],
      ["scratch-etcd", etcd.image],
      ["snapshot", "quorate:1"],
    ],
  );
  const fetched = fetch?.args?.join(" ") ?? "";
  assert.match(
    fetched,
    /^snapshot verify-fetch --listen \[::\]:2381 --scratch-dir \/scratch --endpoint https:\/\/127\.0\.0\.1:2379 /,
  );
  assert.match(fetched, /--sha256 f+ --encryption-key-file \S+ .*s3:\/\/backups\/prod\/nightly-1\.db$/);
  assert.match(
    etcdutl?.args?.join(" ") ?? "",
    /^snapshot restore \/scratch\/snapshot\.db --data-dir=\/scratch\/data /,
  );
  assert.doesNotMatch(etcdutl?.args?.join(" ") ?? "", /bump/);
  assert.match(
    server?.args?.join(" ") ?? "",
    /--listen-client-urls=https:\/\/127\.0\.0\.1:2379 .*--client-cert-auth=true/,
  );
  assert.equal((server as { restartPolicy?: string } | undefined)?.restartPolicy, "Always");
  assert.deepEqual(args.slice(0, 2), ["snapshot", "verify-compare"]);
  const text = JSON.stringify(pod);
  assert.ok(!text.includes("demo-snapshot-tls") && !text.includes("demo-1"), "nothing of the cluster");
  assert.deepEqual(pod.imagePullSecrets, [{ name: "registry" }]);
  assert.ok(Number(fetch?.resources?.requests?.["ephemeral-storage"]) > 2_000);
  const rules = job.spec?.podFailurePolicy?.rules.flatMap(
    ({ onExitCodes }) => onExitCodes?.containerName ?? [],
  );
  assert.deepEqual(rules, ["snapshot", "fetch-snapshot"]);
  for (const one of [...(pod.initContainers ?? []), ...pod.containers])
    assert.equal(one.securityContext?.readOnlyRootFilesystem, true);
});

test("the Job of a point in time restores, serves and replays with the etcd that it was asked for", () => {
  const point = snapshotNamed("point", {
    spec: {
      destination: { s3: { bucket: "backups", prefix: "prod", credentialsSecret: "credentials" } },
      encryption: { keySecret: "key" },
      pointInTime: { time: "2026-11-17T08:29:00Z", clusterID: "abc" },
    },
  });
  const etcd = { image: "etcd:v3.6.16", pullPolicy: "IfNotPresent", pullSecrets: [] };
  const { pod, args, env } = partsOf(
    snapshotJob(point, { ...WISHES, endpoints: [], etcd, etcdVersion: "3.6.16" }),
  );
  const [fetch, etcdutl, server] = pod.initContainers ?? [];
  assert.equal(
    fetch?.args?.join(" "),
    [
      "snapshot build-fetch --listen [::]:2381 --scratch-dir /scratch --endpoint https://127.0.0.1:2379",
      "--result-file /dev/termination-log --at-time 2026-11-17T08:29:00Z --cluster-id abc --etcd-version 3.6.16",
      "--encryption-key-file /etc/quorate/encryption/key s3://backups/prod/",
    ].join(" "),
  );
  assert.equal(etcdutl?.command?.join(), "etcdutl");
  assert.ok(server?.args?.includes("--max-txn-ops=4294967295"));
  assert.equal(
    args.join(" "),
    [
      "snapshot build-replay --scratch-dir /scratch --endpoint https://127.0.0.1:2379",
      "--result-file /dev/termination-log --id point-point-0000-uid --encrypt",
      "--encryption-key-file /etc/quorate/encryption/key s3://backups/prod/",
    ].join(" "),
  );
  assert.ok(env.some(({ name }) => name === "AWS_ACCESS_KEY_ID"));
  // Nothing of the cluster: it may be gone.
  assert.ok(!JSON.stringify(pod).includes("snapshot-tls"));
});
