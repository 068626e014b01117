/** Whether the admission policy lets an account write EtcdMembers in a namespace; nothing is kept. */
import { exampleMember } from "../../src/api/member-examples.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import type { Client } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";

export async function tryRecord(client: Client, namespace: string): Promise<string> {
  const member = exampleMember() as { metadata: object };
  const manifest = { ...member, metadata: { ...member.metadata, namespace } };
  return await client
    .create(`/apis/${API_VERSION}/namespaces/${namespace}/etcdmembers?dryRun=All`, manifest)
    .then(
      () => "",
      (error: unknown) => (error as Error).message,
    );
}

/** A policy takes effect a moment after it is accepted; only then does a success of an operator say something. */
export async function policyInForce(client: Client, namespace: string): Promise<void> {
  await eventually(`the policy for EtcdMembers in ${namespace}`, async () => {
    const refusal = await tryRecord(client, namespace);
    if (!refusal.includes("EtcdMembers are made by the operator")) throw new Error(refusal || "let through");
    return true;
  });
}
