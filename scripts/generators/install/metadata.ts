/** What all objects of an installation share: their names and labels. */

export const OPERATOR = "quorate";
export const NAMESPACE = "quorate-system";
/** Of the variant for one namespace; whoever wants another replaces it. */
export const ONE_NAMESPACE = "etcd";

export const APP_NAME = "app.kubernetes.io/name";

export const LABELS = {
  [APP_NAME]: OPERATOR,
  "app.kubernetes.io/component": "operator",
} as const;

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

export function metadata(
  name: string,
  namespace?: string,
  labels: Readonly<Record<string, string>> = LABELS,
) {
  return { name, ...(namespace !== undefined && { namespace }), labels };
}
