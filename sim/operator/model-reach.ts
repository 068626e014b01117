/** How a simulated operator reaches the etcd in the Pods: over the model's network, for as long as the operator lives. */
import type { EtcdReach } from "../../src/operator/reach.ts";
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
    read: (url) => life.answer(env.snapshots.report(new URL(url).hostname)),
    probe: life.probe(new ModelProbe(world, pods.tls, reaches)),
    setCredentials: ({ cert }) => {
      transport.commonName = certificatesIn(cert ?? "")[0]?.commonName;
    },
    close: () => Promise.resolve(),
  };
}
