/** Which operator runs in a Kubernetes cluster, from the image that its Deployment names. */
import type { Deployment } from "kubernetes-types/apps/v1.d.ts";
import { resource } from "../../kube/resources.ts";
import type { OperatorVersion } from "./target.ts";

export const deployments = resource<Deployment>("apps/v1", "Deployment", "deployments");

/** Of an image that is pinned by its digest alone, only that can be told. Undefined without an operator. */
export function operatorOf(items: readonly Deployment[]): OperatorVersion | undefined {
  const images = items.flatMap(
    ({ spec }) => spec?.template.spec?.containers.flatMap(({ image }) => image ?? []) ?? [],
  );
  const versions = images.flatMap((image) => /:v?(\d+\.\d+\.\d+[\w.-]*)(?:@|$)/.exec(image)?.[1] ?? []);
  const [version] = versions;
  if (version !== undefined) return { version };
  const [image] = images;
  return image === undefined ? undefined : { image };
}
