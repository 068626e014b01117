import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../etcd/testing.ts";
import { FOLLOW_TASK, LABELS } from "../names.ts";
import { SNAPSHOT_CONTAINER } from "../render/snapshot-job.ts";
import { WorkReports } from "./work-reports.ts";

const owned = (kind: string, uid: string) => ({
  apiVersion: "v1",
  kind,
  name: uid,
  uid,
  controller: true,
});

const pod = (uid: string, owner: string | undefined, labels = {}) => ({
  metadata: { uid, labels, ...(owner !== undefined && { ownerReferences: [owned("any", owner)] }) },
  status: {
    podIP: uid,
    containerStatuses: [
      {
        name: SNAPSHOT_CONTAINER,
        ready: true,
        restartCount: 0,
        image: "",
        imageID: "",
        state: { running: {} },
      },
    ],
  },
});

test("only Pods that are controlled by what is ours are asked: followers, Jobs, members, restores in place", async () => {
  const asked: string[] = [];
  const read = (url: string) => {
    asked.push(new URL(url).hostname);
    return Promise.resolve(
      url.includes("10.0.0.1:") ? '{"state":"following","revision":7}' : '{"done":1,"of":4}',
    );
  };
  const reports = new WorkReports({ read }, new ManualClock());
  const object = (uid: string) => ({ metadata: { uid } }) as never;
  const follow = { [LABELS.task]: FOLLOW_TASK };
  await reports.ask(
    {
      cluster: object("cluster"),
      members: [object("member")],
      pods: [pod("10.0.0.3", "member"), pod("10.0.0.4", "cluster"), pod("10.0.0.5", undefined)],
    },
    {
      snapshots: [],
      schedules: [object("schedule")],
      jobs: [object("job"), { metadata: { uid: "deletes", labels: { [LABELS.task]: "delete" } } }],
      pods: [
        pod("10.0.0.1", "schedule", follow),
        pod("10.0.0.2", "job"),
        pod("10.0.0.8", "deletes"),
        pod("10.0.0.6", undefined, follow),
        pod("10.0.0.7", "another", follow),
      ],
    },
  );
  assert.deepEqual(asked.toSorted(), ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]);
  assert.equal(reports.followers("10.0.0.1")?.revision, 7);
  assert.deepEqual(reports.transfers("10.0.0.2"), { done: 1, of: 4 });
  assert.equal(reports.transfers("10.0.0.1"), undefined);
});
