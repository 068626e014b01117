/** A client certificate for one use, kept nowhere. */
import { clientLeaf } from "../../pki/plan.ts";
import type { TLSFiles } from "../render/secret.ts";
import type { Certificates } from "./certificates.ts";

/** Long enough for a handshake, whatever the clocks. */
const ONE_USE_MS = 10 * 60_000;

/** Whether an authority of ours signs for clients. */
export function canIssue({ keeper }: Pick<Certificates, "keeper">): boolean {
  return keeper.source("client")?.kind === "signs";
}

/** Undefined while there is no authority that can sign. */
export async function oneUseFiles(
  { keeper, contradiction }: Pick<Certificates, "keeper" | "contradiction">,
  commonName: string,
): Promise<TLSFiles | undefined> {
  const source = keeper.source("client");
  if (source?.kind !== "signs" || contradiction !== undefined) return undefined;
  const { certificate, key } = await source.obtain({ ...clientLeaf(commonName), lifeMs: ONE_USE_MS });
  return { certificate, key, ca: source.trust.text };
}
