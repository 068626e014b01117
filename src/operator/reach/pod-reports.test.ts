import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../etcd/testing.ts";
import { parseReport } from "../../snapshot/changes/report.ts";
import { FOLLOW_CONTAINER, RESTORE_CONTAINERS } from "../names.ts";
import { PodReports } from "./pod-reports.ts";

const NOW = "2026-11-17T10:00:00Z";
const running = (name: string) => ({
  name,
  ready: true,
  restartCount: 0,
  image: "",
  imageID: "",
  state: { running: { startedAt: NOW } },
});

const pod = (uid: string, podIP: string, change: object = {}) => ({
  metadata: { uid, ...change },
  status: { podIP, containerStatuses: [running(FOLLOW_CONTAINER)] },
});

test("Pods that run are asked at their addresses, not too often, and silence is no answer", async () => {
  const clock = new ManualClock();
  const asked: string[] = [];
  let answer: string | undefined = '{"state":"following","revision":7}';
  const read = (url: string) => {
    asked.push(url);
    return Promise.resolve(answer);
  };
  const reports = new PodReports({ read }, clock, parseReport);
  const pods = [
    pod("a", "10.0.0.7"),
    pod("b", "fd00::7"),
    pod("c", "10.0.0.8", { deletionTimestamp: NOW }),
    // Of one whose containers tell nothing.
    { ...pod("d", "10.0.0.9"), status: { podIP: "10.0.0.9", containerStatuses: [running("etcd")] } },
    { ...pod("e", "10.0.0.10"), status: { podIP: "10.0.0.10", containerStatuses: [] } },
  ];
  await reports.ask(pods);
  await reports.ask(pods);
  assert.deepEqual(asked, ["http://10.0.0.7:2381/", "http://[fd00::7]:2381/"]);
  assert.equal(reports.report("a")?.revision, 7);
  assert.equal(reports.report("c"), undefined);
  await clock.advance(5_000);
  answer = "whatever";
  await reports.ask(pods.slice(0, 1));
  assert.equal(reports.report("a"), undefined, "what it told before is not believed any longer");
  assert.equal(reports.report("b"), undefined, "its Pod is gone");
});

test("an init container is asked while it runs, and not once another one runs", async () => {
  const asked: string[] = [];
  const read = (url: string) => {
    asked.push(url);
    return Promise.resolve(undefined);
  };
  const reports = new PodReports({ read }, new ManualClock(), parseReport);
  const at = (podIP: string, name: string) => ({
    metadata: { uid: podIP },
    status: { phase: "Pending", podIP, initContainerStatuses: [running(name)] },
  });
  await reports.ask([at("10.0.0.7", RESTORE_CONTAINERS.stage), at("10.0.0.8", RESTORE_CONTAINERS.etcdutl)]);
  assert.deepEqual(asked, ["http://10.0.0.7:2381/"]);
});

test("one that does not answer holds up nobody for long, and what it says later is seen by the next look", async () => {
  const clock = new ManualClock();
  let say: (text: string | undefined) => void = () => undefined;
  const read = () => new Promise<string | undefined>((resolve) => (say = resolve));
  const reports = new PodReports({ read }, clock, parseReport);
  const pods = [pod("a", "10.0.0.7")];
  const look = reports.ask(pods);
  await clock.advance(200);
  await look;
  assert.equal(reports.report("a"), undefined);
  say('{"state":"following","revision":7}');
  await clock.advance(0);
  await reports.ask(pods);
  assert.equal(reports.report("a")?.revision, 7);
});
