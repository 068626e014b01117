/**
 * A real API server made ready for conformance: our resource definitions, two namespaces, and its controllers
 * stopped, so that nobody writes but the calls that are compared.
 */
import { customResourceDefinition } from "../../src/api/crd.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { resources } from "../../src/api/resources.ts";
import type { Http2Transport } from "../../src/kube/transport.ts";
import { NAMESPACES } from "../../sim/models/kube/conformance/run.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { bedPaths } from "../../testbed/paths.ts";
import { ownedProcesses } from "../../testbed/processes.ts";
import { configOf, transportTo } from "../support/kube-runtime.ts";

/** As the testbed's API server is started with (`--default-not-ready-toleration-seconds`). */
export const TOLERATION_SECONDS = 5;

export interface Ground {
  readonly transport: Http2Transport;
  /** Lets the controllers work, or stops them again. */
  controllers(run: boolean): void;
  down(): Promise<void>;
}

export async function conformanceGround(): Promise<Ground> {
  const bed = await upForTests();
  const { client } = bed;
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  for (const resource of resources) await client.create(definitions, customResourceDefinition(resource));
  for (const name of NAMESPACES) await client.create("/api/v1/namespaces", { metadata: { name } });
  for (const { plural } of resources)
    await eventually(`${plural} are served`, () => client.get(`/apis/${API_VERSION}/${plural}`));
  for (const name of NAMESPACES)
    for (const wanted of ["serviceaccounts/default", "configmaps/kube-root-ca.crt"])
      await eventually(`${wanted} in ${name}`, () => client.get(`/api/v1/namespaces/${name}/${wanted}`));
  controllers(bed, false);
  const transport = transportTo(configOf(bed));
  return {
    transport,
    controllers: (run) => controllers(bed, run),
    async down() {
      await transport.close();
      controllers(bed, true);
      await bed.down();
    },
  };
}

function controllers(bed: TestTestbed, run: boolean): void {
  const found = ownedProcesses(bedPaths(bed.name).dir).find(({ role }) => role === "kube-controller-manager");
  if (found) process.kill(found.pid, run ? "SIGCONT" : "SIGSTOP");
}
