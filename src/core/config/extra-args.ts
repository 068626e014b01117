/**
 * Flags that a user gives by name, turned into keys of the configuration file for one version. A setting
 * keeps its meaning when etcd renames it: `experimental-x` and `x` are one setting, and a switch that
 * became a feature gate in 3.6 is rendered as that gate there.
 */
import { UNSUPPORTED } from "../messages/option-words.ts";
import { GATE_OF_SWITCH, hasGate, isFrom, kindOf, switchOfGate, toValue, type Value } from "./config-keys.ts";

/** A setting that a version cannot take, and why, in words for the one who wrote it. */
export interface Unsupported {
  /** Path below `spec`. */
  readonly field: string;
  readonly reason: string;
}

export interface RenderedArgs {
  /** Top-level keys of the file; `socket-options` is a section. */
  readonly keys: Readonly<Record<string, Value | Readonly<Record<string, Value>>>>;
  readonly gates: Readonly<Record<string, boolean>>;
  readonly unsupported: readonly Unsupported[];
}

/** Flags that are fields of a section in the file. */
const SECTION_FIELDS: ReadonlyMap<string, readonly [section: string, field: string]> = new Map([
  ["socket-reuse-port", ["socket-options", "reuse-port"]],
  ["socket-reuse-address", ["socket-options", "reuse-address"]],
] as const);
/** The file of 3.5 spells this one differently from the flag. */
const FILE_SPELLING: ReadonlyMap<string, string> = new Map([
  ["experimental-snapshot-catchup-entries", "experimental-snapshot-catch-up-entries"],
]);
const EXPERIMENTAL = "experimental-";

type Place =
  | { readonly kind: "key"; readonly key: string }
  | { readonly kind: "field"; readonly section: string; readonly field: string }
  | { readonly kind: "gate"; readonly gate: string };

export function renderArgs(
  args: Readonly<Record<string, string>>,
  gates: Readonly<Record<string, boolean>>,
  version: string,
): RenderedArgs {
  const keys: Record<string, Value | Record<string, Value>> = {};
  const rendered: Record<string, boolean> = {};
  const unsupported: Unsupported[] = [];
  const seen = new Map<string, string>();

  for (const [gate, value] of Object.entries(gates)) {
    const place = placeOfGate(gate, version);
    const field = `options.featureGates.${gate}`;
    if (!place) {
      unsupported.push({ field, reason: UNSUPPORTED.gate(version, gate) });
      continue;
    }
    seen.set(nameOf(place), field);
    if (place.kind === "gate") rendered[gate] = value;
    else if (place.kind === "key") keys[place.key] = value;
  }
  // The newer spelling first: when both are given it wins, and the other is reported.
  const newerFirst = Object.entries(args).toSorted(
    ([a], [b]) => Number(a.startsWith(EXPERIMENTAL)) - Number(b.startsWith(EXPERIMENTAL)),
  );
  for (const [flag, text] of newerFirst) {
    const field = `options.extraArgs.${flag}`;
    const place = placeOf(flag, version);
    if (!place) {
      unsupported.push({ field, reason: UNSUPPORTED.flag(version, flag) });
      continue;
    }
    const other = seen.get(nameOf(place));
    if (other !== undefined) {
      unsupported.push({ field, reason: UNSUPPORTED.given(other) });
      continue;
    }
    seen.set(nameOf(place), field);
    const kind = place.kind === "key" ? kindOf(place.key, version) : "bool";
    const value = kind === undefined ? undefined : toValue(kind, text);
    if (value === undefined) unsupported.push({ field, reason: UNSUPPORTED.value(kind, text) });
    // A value of the wrong type is written as it is: etcd then refuses to start, which is seen; a dropped one is not.
    if (place.kind === "key") keys[place.key] = value ?? text;
    else if (place.kind === "field") {
      keys[place.section] = {
        ...(keys[place.section] as Record<string, Value>),
        [place.field]: value ?? text,
      };
    } else if (typeof value === "boolean") rendered[place.gate] = value;
  }
  return { keys, gates: rendered, unsupported };
}

function nameOf(place: Place): string {
  if (place.kind === "gate") return `gate ${place.gate}`;
  return place.kind === "key" ? place.key : `${place.section}.${place.field}`;
}

function placeOf(flag: string, version: string): Place | undefined {
  const inSection = SECTION_FIELDS.get(flag);
  if (inSection) {
    const [section, field] = inSection;
    return kindOf(section, version) ? { kind: "field", section, field } : undefined;
  }
  const gate = GATE_OF_SWITCH.get(flag);
  if (gate && isFrom(version, "3.6")) return { kind: "gate", gate };
  const stem = flag.startsWith(EXPERIMENTAL) ? flag.slice(EXPERIMENTAL.length) : flag;
  const spellings = [stem, `${EXPERIMENTAL}${stem}`].map((name) => FILE_SPELLING.get(name) ?? name);
  const key = spellings.find((name) => kindOf(name, version) !== undefined);
  return key === undefined || kindOf(key, version) === "section" ? undefined : { kind: "key", key };
}

/** On the way to 3.6, members still on 3.5 get the switch that the gate once was. */
function placeOfGate(gate: string, version: string): Place | undefined {
  if (hasGate(gate, version)) return { kind: "gate", gate };
  const key = isFrom(version, "3.6") ? undefined : switchOfGate(gate);
  return key !== undefined && kindOf(key, version) ? { kind: "key", key } : undefined;
}
