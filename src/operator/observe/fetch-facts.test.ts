import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerState, PersistentVolumeClaim, Pod } from "kubernetes-types/core/v1.d.ts";
import { healthy } from "../../core/testing/cluster.ts";
import { operationOf } from "../../core/testing/operations.ts";
import { templateFor } from "../../core/template/template.ts";
import { RestoreError } from "../../snapshot/restore-error.ts";
import { writeFailure, writeStaged } from "../../snapshot/stage.ts";
import { ANNOTATIONS, FETCH_CONTAINER } from "../names.ts";
import { fetchPod, restoreClaim } from "../render/fetch-pod.ts";
import { approvalOf } from "../render/recovery-pods.ts";
import { fetchedNote, fetchFacts, type FetchObjects } from "./fetch-facts.ts";

const NOW = Date.parse("2026-05-04T10:00:00Z");
const PLAN = "51f0a3c2d4e5b697";
const { cluster } = healthy();
const template = templateFor(cluster.spec, cluster.spec.version);
const source = { s3: { bucket: "backups", key: "demo.db" } };
const operation = operationOf({ kind: "restore", source, approve: PLAN }, { status: { phase: "Running" } });

function podOf(state: ContainerState, attempt = 1, ageMs = 1_000): Pod {
  const { version } = cluster.spec;
  const action = { kind: "FetchSnapshot", plan: PLAN, restore: { source }, version, attempt } as const;
  const pod = fetchPod(cluster, { ...action, operation: operation.uid }, { image: "image", template });
  const creationTimestamp = new Date(NOW - ageMs).toISOString();
  const container = { name: FETCH_CONTAINER, state, ready: false, restartCount: 0, image: "", imageID: "" };
  return {
    ...pod,
    metadata: { ...pod.metadata, creationTimestamp },
    status: { containerStatuses: [container] },
  };
}

const ended = (message: string, exitCode = 0): ContainerState => ({ terminated: { exitCode, message } });
const STAGED = ended(
  writeStaged({ size: 9, sha256: "a".repeat(64), database: { revision: 7 } } as Parameters<
    typeof writeStaged
  >[0]),
);
const CLAIM = restoreClaim(cluster, PLAN, template);

const facts = (pods: Pod[], claims: PersistentVolumeClaim[] = [CLAIM], more: Partial<FetchObjects> = {}) =>
  fetchFacts({ cluster, template, pods, claims, operations: [operation], now: NOW, ...more });

test("a Pod that ended well says what is on its volume, as long as the claim is there to stay", () => {
  const { fetched } = facts([podOf(STAGED)]);
  assert.deepEqual(fetched, {
    plan: PLAN,
    source: { pvc: { claimName: CLAIM.metadata?.name, path: "restore/snapshot.db" } },
    size: 9,
    sha256: "a".repeat(64),
    revision: 7,
    recipe: { source },
  });
  const going = { ...CLAIM, metadata: { ...CLAIM.metadata, deletionTimestamp: "2026-05-04T09:00:00Z" } };
  for (const claims of [[], [going]]) {
    const { fetched: none, fetch } = facts([podOf(STAGED)], claims);
    assert.equal(none, undefined);
    assert.equal(fetch?.state, "failed");
  }
});

test("what it was asked for is on the Pod, and one of an earlier operator has none of it", () => {
  const pod = podOf(STAGED);
  const saying = (recipe: string | undefined) => {
    const { [ANNOTATIONS.recipe]: _own, ...annotations } = pod.metadata?.annotations ?? {};
    const given = recipe === undefined ? annotations : { ...annotations, [ANNOTATIONS.recipe]: recipe };
    return facts([{ ...pod, metadata: { ...pod.metadata, annotations: given } }]);
  };
  for (const recipe of [undefined, "{", "null", "7"]) {
    const { fetched } = saying(recipe);
    assert.deepEqual([fetched?.plan, fetched?.recipe], [PLAN, undefined], recipe);
  }
});

test("what the Pod told is on the claim, for when the Pod is gone; for another operation it is not there", () => {
  const { fetched } = facts([podOf(STAGED)]);
  assert.ok(fetched);
  const noted = (approval: string, deletionTimestamp?: string) => {
    const annotations = {
      ...CLAIM.metadata?.annotations,
      [ANNOTATIONS.fetched]: fetchedNote(approval, fetched),
    };
    const metadata = { ...CLAIM.metadata, annotations };
    return {
      ...CLAIM,
      metadata: deletionTimestamp === undefined ? metadata : { ...metadata, deletionTimestamp },
    };
  };
  const approval = approvalOf(PLAN, operation.uid);
  assert.deepEqual(facts([], [noted(approval)]), { fetched });
  assert.deepEqual(facts([], [noted(approvalOf(PLAN, "another"))]), {});
  assert.deepEqual(facts([], [noted(approval, "2026-05-04T09:00:00Z")]), {});
  assert.deepEqual(facts([], [CLAIM]), {});
  assert.equal(facts([podOf({ running: {} }, 2)], [noted(approval)]).fetched, undefined, "it writes there");
});

test("a failure is told in its own words, and whether another attempt may help", () => {
  const failing = (fault: "damaged" | "unreachable") =>
    facts([podOf(ended(writeFailure(new RestoreError(fault, `it is ${fault}`)), 1))]).fetch;
  assert.deepEqual(failing("damaged"), {
    plan: PLAN,
    attempt: 1,
    state: "failed",
    why: "it is damaged",
    definite: true,
  });
  assert.deepEqual(failing("unreachable"), {
    plan: PLAN,
    attempt: 1,
    state: "failed",
    why: "it is unreachable",
  });
  assert.equal(facts([podOf(ended("Killed", 137))]).fetch?.state, "failed");
  assert.equal(facts([podOf(ended("what is this"))]).fetch?.state, "failed");
});

test("one that waits or works is waited for, and one that never begins is not", () => {
  const waiting = { waiting: { reason: "ContainerCreating" } };
  assert.equal(facts([podOf(waiting)]).fetch?.state, "running");
  assert.equal(facts([podOf(waiting, 1, 11 * 60_000)]).fetch?.state, "failed");
  assert.equal(facts([podOf({ running: {} }, 1, 11 * 60_000)]).fetch?.state, "running");
});

test("the latest attempt counts, and no Pod of another operation, owner or life", () => {
  const first = podOf(ended("Killed", 137));
  assert.equal(facts([podOf({ running: {} }, 2), first]).fetch?.attempt, 2);
  const others = [{ ...operation, uid: "other" }];
  assert.deepEqual(facts([podOf(STAGED)], [CLAIM], { operations: others }), {});
  const foreign = { ...podOf(STAGED), metadata: { ...podOf(STAGED).metadata, ownerReferences: [] } };
  assert.deepEqual(facts([foreign]), {});
  const recovered = { plan: PLAN, operation: operation.uid, revision: 7, restore: { source } };
  const begun = { ...cluster, marks: { ...cluster.marks, recovered } };
  assert.deepEqual(facts([podOf(STAGED)], [CLAIM], { cluster: begun }), {});
});
