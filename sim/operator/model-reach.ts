/** How a simulated operator reaches the etcd in the Pods: over the model's network, for as long as the operator lives. */
import type { EtcdReach } from "../../src/operator/reach/reach.ts";
import { certificatesIn } from "../machine/model-pki.ts";
import { ModelProbe } from "../machine/model-probe.ts";
import { ModelTransport } from "../machine/model-transport.ts";
import type { Environment } from "./environment.ts";
import type { Life } from "./life.ts";

export function modelReach(env: Environment, life: Life, random: Environment["random"]): EtcdReach {
  const reaches = env.reaches.bind(env);
  const { world, calls, keys, pods } = env;
  const transport = new ModelTransport({ world, calls, keys, random: random.fork(), reaches });
  return {
    transport: life.etcd(transport),
    connect: ({ cert }) => life.etcd(transport.as(certificatesIn(cert ?? "")[0]?.commonName)),
    date: (url) => life.answer(dateOf(env, new URL(url).hostname)),
    read: (url) => life.answer(env.snapshots.report(new URL(url).hostname)),
    probe: life.probe(new ModelProbe(world, pods.tls, reaches)),
    setCredentials: ({ cert }) => {
      transport.commonName = certificatesIn(cert ?? "")[0]?.commonName;
    },
    close: () => Promise.resolve(),
  };
}

/** The time of an answer has whole seconds. */
function dateOf(env: Environment, address: string): number | undefined {
  const server = env.world.network
    .all()
    .find(({ config }) => config.listenClientURLs.some((url) => new URL(url).hostname === address));
  if (!server?.runs || server.frozen || !env.reaches(server)) return undefined;
  return Math.floor(env.nodes.clocks.now(env.pods.nodeOf(server)) / 1_000) * 1_000;
}
