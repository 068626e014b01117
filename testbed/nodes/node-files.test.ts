/** The scripts that set up network namespaces must never make a way out of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "yaml";
import { corefile, kubeletConfig, nodeScript, worldScript } from "./node-files.ts";

test("the world has no default route and no link to the machine", () => {
  const script = worldScript("/cache/usr", "/bed/resolv.conf", 3);
  assert.ok(!script.includes("default via"));
  assert.ok(!script.includes("ip_forward"));
  assert.ok(!script.includes("veth"), "the only cables are those that nodes bring");
});

test("a node's mounts are its own before anything is mounted, and its cable ends in the world", () => {
  const hierarchies = [
    { options: "cpu", path: "/sys/fs/cgroup/cpu" },
    { options: "name=systemd", path: "/sys/fs/cgroup/systemd" },
  ];
  const layout = { n: 2, nodes: 3, dir: "/bed/n", usr: "/u", world: 7, volumes: "/bed/v", hierarchies };
  const script = nodeScript(layout);
  assert.ok(script.indexOf("mount --make-rprivate /") < script.indexOf("mount -t"));
  assert.match(script, /peer name cable-2 netns \/proc\/7\/ns\/net/);
  assert.match(script, /ip route add 10\.244\.1\.0\/24 via 10\.77\.0\.11/);
  assert.doesNotMatch(script, /10\.244\.2\.0/, "its own Pods are not reached through a neighbour");
  assert.match(script, /mount -t cgroup -o none,name=systemd cgroup \/sys\/fs\/cgroup\/systemd/);
});

test("quick detection is a choice", () => {
  const lease = (quick: boolean) =>
    (parse(kubeletConfig("/n", "/ca", quick)) as { nodeLeaseDurationSeconds?: number })
      .nodeLeaseDurationSeconds;
  assert.equal(lease(true), 4);
  assert.equal(lease(false), undefined);
});

test("the name server remembers unknown names for as long as it is told", () => {
  assert.match(corefile("/k", "127.0.0.1:1", 5), /ttl 5\n[^]*cache 30\n/);
  assert.match(corefile("/k", "127.0.0.1:1", 0), /disable denial cluster\.local/);
});
