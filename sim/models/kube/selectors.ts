/** Label and field selectors, as a query states them. */
import type { KubeJson } from "./object.ts";
import { badRequest } from "./refusal.ts";

export type Selector = (object: KubeJson) => boolean;

export const everything: Selector = () => true;

type Labels = Readonly<Record<string, string>>;

/** `a=b,c!=d,e,!f,g in (h,i),j notin (k)`. */
export function labelSelector(text: string): Selector {
  if (text.trim() === "") return everything;
  const wants = splitOutside(text).map(requirement);
  return ({ metadata }) => wants.every((want) => want(metadata.labels ?? {}));
}

/** At commas that are not within brackets. */
function splitOutside(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i <= text.length; i++) {
    if (text[i] === "(") depth++;
    if (text[i] === ")") depth--;
    if (i === text.length || (text[i] === "," && depth === 0)) {
      parts.push(text.slice(from, i).trim());
      from = i + 1;
    }
  }
  return parts;
}

const SETS = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/;
const EQUALS = /^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)$/;
const NAME = /^!?[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$/;

function requirement(text: string): (labels: Labels) => boolean {
  const [, key = "", how, values = ""] = SETS.exec(text) ?? [];
  if (how !== undefined) {
    const among = new Set(values.split(",").map((value) => value.trim()));
    return (labels) => {
      const value = labels[key];
      return how === "in"
        ? value !== undefined && among.has(value)
        : value === undefined || !among.has(value);
    };
  }
  const [, name = "", sign, wanted = ""] = EQUALS.exec(text) ?? [];
  if (sign !== undefined)
    return (labels) => (sign === "!=" ? labels[name] !== wanted : labels[name] === wanted);
  if (!NAME.test(text)) throw badRequest(`unable to parse requirement: ${text}`);
  if (text.startsWith("!")) return (labels) => labels[text.slice(1)] === undefined;
  return (labels) => labels[text] !== undefined;
}

/** `metadata.name=x,spec.nodeName!=y`; a field that the kind does not offer is refused. */
export function fieldSelector(
  text: string,
  fieldOf: (object: KubeJson, field: string) => string | undefined,
  known: (field: string) => boolean,
): Selector {
  if (text.trim() === "") return everything;
  const wants = text.split(",").map((part) => {
    const [, field = "", sign, value = ""] = EQUALS.exec(part.trim()) ?? [];
    if (sign === undefined) throw badRequest(`invalid field selector: ${part}`);
    if (!known(field)) throw badRequest(`field label not supported: ${field}`);
    return (object: KubeJson) => ((fieldOf(object, field) ?? "") === value) === (sign !== "!=");
  });
  return (object) => wants.every((want) => want(object));
}
