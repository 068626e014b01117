/** How a simulated operator reaches the etcd in the Pods: over the model's network, for as long as the operator lives. */
import type { EtcdReach } from "../../src/operator/reach.ts";
import { ModelProbe } from "../machine/model-probe.ts";
import { ModelTransport } from "../machine/model-transport.ts";
import type { Environment } from "./environment.ts";
import type { Life } from "./life.ts";

export function modelReach(env: Environment, life: Life, random: Environment["random"]): EtcdReach {
  const reaches = env.reaches.bind(env);
  const { world, calls, keys, pods } = env;
  return {
    transport: life.etcd(new ModelTransport({ world, calls, keys, random: random.fork(), reaches })),
    probe: life.probe(new ModelProbe(world, pods.tls, reaches)),
    setCredentials: () => undefined,
    close: () => Promise.resolve(),
  };
}
