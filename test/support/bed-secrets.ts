/** Secrets on a testbed, as a user puts them there and reads them: all files of one in a single answer. */
import { Buffer } from "node:buffer";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { isCode } from "../../testbed/client.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "./kube-paths.ts";
import { assertMarked } from "./passwords.ts";

type Bed = Pick<TestTestbed, "client">;

/** In place of one of this name, if there is any. With the label of a cluster, its operator sees it at once. */
export async function putSecret(
  bed: Bed,
  name: string,
  files: Readonly<Record<string, string>>,
  { cluster, type = "Opaque" }: { readonly cluster?: string; readonly type?: string } = {},
): Promise<void> {
  for (const [file, text] of Object.entries(files)) if (file === "password") assertMarked(text);
  const encoded = Object.entries(files).map(([file, text]) => [file, Buffer.from(text).toString("base64")]);
  const data = Object.fromEntries(encoded) as Record<string, string>;
  const labels = cluster === undefined ? {} : { "etcd.quorate.dev/cluster": cluster };
  await bed.client.delete(`${PATHS.secrets}/${name}`).catch((error: unknown) => {
    if (!isCode(error, 404)) throw error;
  });
  const metadata = { name, labels };
  await bed.client.create(PATHS.secrets, { apiVersion: "v1", kind: "Secret", metadata, type, data });
}

/** Its files by name; one that is not there is empty. */
export async function secretFiles(bed: Bed, name: string): Promise<(file: string) => string> {
  const { data } = await bed.client.get<Secret>(`${PATHS.secrets}/${name}`);
  return (file) => Buffer.from(data?.[file] ?? "", "base64").toString();
}
