/**
 * The small files a Pod finds in /etc: who it is, and how names resolve.
 */
import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { identity, podDir } from "./world.ts";
import type { World } from "./world.ts";

export interface PodFiles {
  etc: string;
  hosts: string;
  hostname: string;
}

const NSSWITCH = "passwd: files\ngroup: files\nhosts: files dns\n";

export function writePodFiles(world: World, pod: Pod, podIP: string): PodFiles {
  const { namespace, name, uid } = identity(pod);
  const hostname = pod.spec?.hostname ?? name;
  const etc = join(podDir(world, uid), "etc");
  mkdirSync(etc, { recursive: true });
  writeFileSync(join(etc, "hostname"), `${hostname}\n`);
  writeFileSync(
    join(etc, "passwd"),
    "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
  );
  writeFileSync(join(etc, "group"), "root:x:0:\nnogroup:x:65534:\n");
  writeFileSync(join(etc, "nsswitch.conf"), NSSWITCH);
  const nameserver = world.nameserver();
  const search = ["svc.cluster.local", "cluster.local"];
  writeFileSync(
    join(etc, "resolv.conf"),
    [
      `search ${[`${namespace}.${search[0]}`, ...search].join(" ")}`,
      // None: a question to 127.0.0.1, which is refused at once. Never to a name server outside.
      ...(nameserver ? [`nameserver ${nameserver}`] : []),
      "options ndots:5 timeout:1",
      "",
    ].join("\n"),
  );
  const files = { etc, hosts: join(podDir(world, uid), "hosts"), hostname };
  writeHosts(world, pod, podIP, files);
  return files;
}

/** Written in place, since the container has this very file mounted. */
export function writeHosts(world: World, pod: Pod, podIP: string, files: PodFiles): void {
  const { namespace } = identity(pod);
  const { subdomain } = pod.spec ?? {};
  const full = subdomain ? `${files.hostname}.${subdomain}.${namespace}.svc.cluster.local ` : "";
  const others = world.nameserver() ? [] : world.hostLines();
  const text = [`${podIP} localhost`, `${podIP} ${full}${files.hostname}`, ...others, ""].join("\n");
  if (existsSync(files.hosts) && readFileSync(files.hosts, "utf8") === text) return;
  const file = openSync(files.hosts, existsSync(files.hosts) ? "r+" : "w");
  try {
    const bytes = Buffer.from(text);
    writeSync(file, bytes, 0, bytes.length, 0);
    ftruncateSync(file, bytes.length);
  } finally {
    closeSync(file);
  }
}
