/**
 * A kubelet expands `$(VAR)` in the arguments and variables of a container. Text from a spec must not be expanded:
 * `http://$(AWS_SECRET_ACCESS_KEY).example` as an endpoint would send a Secret to a host that the spec's author chose.
 */

/** The text as the container gets it: a kubelet reads `$$` as one `$`. */
export function literal(text: string): string {
  return text.replaceAll("$", "$$$$");
}
