/**
 * The installation as a user applies it: the objects of config/install.yaml and of the samples, put on an API
 * server, and the operator's own identity there.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { Client, KubeObject } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";

const CONFIG = join(import.meta.dirname, "..", "..", "config");
export const OPERATOR = { namespace: "quorate-system", name: "quorate" } as const;

export type Manifest = KubeObject & { apiVersion: string; kind: string; metadata: { name: string } };

/** Of `config/<file>`, in order. */
export function manifests(file: string): Manifest[] {
  return parsed(document(file));
}

function document(file: string): string {
  return readFileSync(join(CONFIG, file), "utf8");
}

function parsed(text: string): Manifest[] {
  return parseAllDocuments(text).map((one) => one.toJS() as Manifest);
}

/** `config/install-namespaced.yaml` for another namespace, by the command that docs/install.md gives. */
export function namespacedTo(namespace: string): Manifest[] {
  const [, from = "", to = ""] =
    /sed -E 's#(.+)#(.+team-a.+)#' config/.exec(document("../docs/install.md")) ?? [];
  if (from === "") throw new Error("docs/install.md does not say how to install for another namespace");
  const replacement = to.replaceAll(/\\(\d)/g, "$$$1").replace("team-a", namespace);
  const text = document("install-namespaced.yaml").replaceAll(new RegExp(from, "gm"), replacement);
  return parsed(text);
}

export function sample(name: string): Manifest {
  const [cluster] = manifests(`samples/${name}.yaml`);
  if (!cluster) throw new Error(`config/samples/${name}.yaml is empty`);
  return cluster;
}

export function samples(): string[] {
  return readdirSync(join(CONFIG, "samples")).map((file) => file.replace(/\.yaml$/, ""));
}

/** Kinds whose plural is not the kind with an s. */
const PLURALS: Readonly<Record<string, string>> = {
  PriorityClass: "priorityclasses",
  ValidatingAdmissionPolicy: "validatingadmissionpolicies",
};

/** Where the object is, or where it would be in `namespace`. */
export function pathOf({ apiVersion, kind, metadata }: Manifest, namespace = metadata.namespace): string {
  const base = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`;
  return `${base}${namespace === undefined ? "" : `/namespaces/${namespace}`}/${plural}/${metadata.name}`;
}

/** Server-side, strictly: a field that the server does not know is an error. */
export async function applyAll(client: Client, objects: readonly Manifest[]): Promise<void> {
  for (const object of objects) await applyOne(client, object);
}

async function applyOne(client: Client, object: Manifest): Promise<void> {
  const query = "?fieldManager=install&force=true&fieldValidation=Strict";
  await client.call("PATCH", pathOf(object) + query, object, { contentType: "application/apply-patch+yaml" });
}

/** A new resource is served a moment after its definition is accepted. */
export async function whenServed(client: Client, ...paths: string[]): Promise<void> {
  for (const path of paths)
    await eventually(`${path} to be served`, async () => ((await client.get(path)) ? true : false));
}

/** A token of the operator's service account. */
export async function operatorToken(client: Client, namespace: string = OPERATOR.namespace): Promise<string> {
  interface TokenRequest {
    spec: { expirationSeconds: number };
    status?: { token: string };
  }
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${OPERATOR.name}/token`;
  const { status } = await client.create<TokenRequest>(path, { spec: { expirationSeconds: 3600 } });
  if (!status) throw new Error("the server gave no token");
  return status.token;
}
