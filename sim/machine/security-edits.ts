/** Edits of TLS and auth in random runs of the product, through the checks of this platform. */
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { checkManifest, InvalidInput } from "../../src/local/change.ts";
import type { SeededRandom } from "../engine/random.ts";
import type { MachineSimulation } from "./simulation.ts";

const MODES = ["Managed", "Managed", "Disabled"] as const;

export async function secure(sim: MachineSimulation, random: SeededRandom): Promise<string> {
  const change = random.chance(0.5) ? { tls: tls(random) } : { auth: auth(random) };
  const said = `edit ${JSON.stringify(change)}`;
  const stored = sim.cluster();
  if (!stored) return `${said} of no cluster`;
  const metadata = { name: stored.name };
  const spec = { ...stored.spec, ...change };
  try {
    checkManifest({ apiVersion: API_VERSION, kind: "EtcdCluster", metadata, spec }, stored);
  } catch (error) {
    if (error instanceof InvalidInput) return `${said} is invalid`;
    throw error;
  }
  await sim.edit(change);
  return said;
}

function tls(random: SeededRandom): NonNullable<EtcdClusterSpecInput["tls"]> {
  const [client, peer] = [random.pick(MODES), random.pick(MODES)];
  return {
    client: { mode: client },
    peer: { mode: peer },
    ...((client === "Managed" || peer === "Managed") && { rotation: { soak: "0s" } }),
    ...(client === "Managed" && { clientAuth: random.pick(["Required", "Required", "None"]) }),
    // Nobody there approves or loads anything.
    transition: { proceed: "After", after: "5s" },
  };
}

function auth(random: SeededRandom): NonNullable<EtcdClusterSpecInput["auth"]> {
  const [enabled, isSigned] = [random.chance(0.6), random.chance(0.3)];
  return { enabled, clientRoles: [], ...(isSigned && { token: { type: "JWT" } }) };
}
