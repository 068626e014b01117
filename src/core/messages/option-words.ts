/** Why a version of etcd cannot take a setting of the spec, for the one who wrote it; its field goes before it. */

/** What a value has to look like. */
const KINDS = {
  bool: "true or false",
  int: "a whole number",
  duration: "a duration like 100ms or 1h",
} as const;

export const UNSUPPORTED = {
  streamLimit: (version: string) => `etcd ${version} has no limit of streams per client`,
  compactHash: (version: string) => `etcd ${version} has no compact-hash check`,
  noTime: "it must be more than 0s; set compactHash to false to have no such check",
  gate: (version: string, gate: string) => `etcd ${version} has no feature gate ${gate}`,
  flag: (version: string, flag: string) => `etcd ${version} has no setting ${flag} in its configuration file`,
  given: (other: string) => `it is the same setting as ${other}: keep one of them`,
  value: (kind: string | undefined, text: string) =>
    `${JSON.stringify(text)} is not ${KINDS[kind as keyof typeof KINDS] ?? "a value for it"}`,
} as const;
