/** The service account of Pods that use a store: made if absent, without any rights, and then left alone. */
import type { KubeClient } from "../../kube/client.ts";
import { isReason } from "../../kube/errors.ts";
import { SNAPSHOT_SERVICE_ACCOUNT } from "../names.ts";
import { snapshotServiceAccount } from "../render/snapshot-job.ts";
import { serviceAccounts } from "../resources.ts";

/** Where the spec names none of its own. */
export async function ensureServiceAccount(
  { client, namespace }: { readonly client: KubeClient; readonly namespace: string },
  given: string | undefined,
): Promise<void> {
  if ((given ?? SNAPSHOT_SERVICE_ACCOUNT) !== SNAPSHOT_SERVICE_ACCOUNT) return;
  try {
    await client.create(serviceAccounts, snapshotServiceAccount(namespace));
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
  }
}
