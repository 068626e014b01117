/** Low priority makes way within one control group; that of another group need not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ownNiceMs } from "./own-nice.ts";

const STAT = "usage_usec 90000\nuser_usec 80000\nnice_usec 7000\n";
const of = (files: Readonly<Record<string, string>>) => ownNiceMs((path) => files[path]);

test("counted is what our own control group computed at a low priority", () => {
  const group = { "/proc/self/cgroup": "0::/user.slice/me\n" };
  assert.equal(of({ ...group, "/sys/fs/cgroup/user.slice/me/cpu.stat": STAT }), 7);
  assert.equal(of({ ...group, "/sys/fs/cgroup/cpu.stat": STAT }), 0);
  assert.equal(of({ "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.stat": STAT }), 7);
});

test("beside cgroup v1 it is counted only if v1 knows no other group for the cores", () => {
  const stat = { "/sys/fs/cgroup/unified/cpu.stat": STAT };
  assert.equal(of({ "/proc/self/cgroup": "4:memory:/tests\n2:cpu,cpuacct:/\n0::/\n", ...stat }), 7);
  assert.equal(of({ "/proc/self/cgroup": "2:cpu,cpuacct:/tests\n0::/\n", ...stat }), 0);
});

test("nothing is counted where sessions are groups of their own, or Linux does not say it", () => {
  const files = { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.stat": STAT };
  assert.equal(of({ ...files, "/proc/sys/kernel/sched_autogroup_enabled": "1\n" }), 0);
  assert.equal(of({ ...files, "/sys/fs/cgroup/cpu.stat": "usage_usec 90000\n" }), 0);
  assert.equal(of({}), 0);
});
