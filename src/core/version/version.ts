/** etcd versions: parsing and order. Only released `major.minor.patch` versions exist for the operator. */

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

export function parseVersion(text: string): Version | undefined {
  const match = /^v?(\d{1,3})\.(\d{1,3})\.(\d{1,4})$/.exec(text);
  return match ? { major: Number(match[1]), minor: Number(match[2]), patch: Number(match[3]) } : undefined;
}

/** For versions that were validated when they entered the house. */
export function version(text: string): Version {
  const parsed = parseVersion(text);
  if (!parsed) throw new RangeError(`${JSON.stringify(text)} is not an etcd version such as 3.6.16`);
  return parsed;
}

export function compareVersions(a: Version, b: Version): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}

export function formatVersion(v: Version): string {
  return `${v.major}.${v.minor}.${v.patch}`;
}

/** `3.6` of `3.6.16`, of `3.6.0` and of `3.6`: the form of etcd's cluster and storage versions. */
export function minorOf(text: string): string {
  const [major = "", minor = ""] = text.replace(/^v/, "").split(".");
  return `${major}.${minor}`;
}

/** The minor as a number that can be compared and counted: 3.6 → 3006. */
export function minorNumber(text: string): number {
  const from = text.startsWith("v") ? 1 : 0;
  const dot = text.indexOf(".", from);
  if (dot === -1) return Number(text.slice(from)) * 1000;
  const end = text.indexOf(".", dot + 1);
  return Number(text.slice(from, dot)) * 1000 + Number(text.slice(dot + 1, end === -1 ? text.length : end));
}
