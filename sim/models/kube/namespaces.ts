/** The namespace controller: empties a namespace that is deleted, and takes it away when nothing is left in it. */
import { Hand, Later, type Surround } from "./controllers.ts";
import { end } from "./delete.ts";
import { kinds } from "./kinds/all.ts";
import { namespaces } from "./kinds/simple.ts";

export class NamespaceController {
  constructor(around: Surround) {
    const { server } = around;
    const hand = new Hand(server, "kube-controller-manager");
    const later = new Later(around, (name) => {
      const stored = server.storage.get(namespaces, name);
      if (stored?.object.metadata.deletionTimestamp === undefined) return;
      let left = 0;
      for (const kind of kinds) {
        if (!kind.namespaced) continue;
        for (const { metadata } of server.list(kind)) {
          if (metadata.namespace !== name) continue;
          left++;
          if (metadata.deletionTimestamp === undefined)
            hand.delete(kind, `${name}/${metadata.name}`, { propagation: "Background" });
        }
      }
      if (left === 0) end(server, namespaces, stored);
      else later.wake(name, 1_000);
    });
    server.storage.onChange(({ kind, key, after }) => {
      if (kind === namespaces && after.object.metadata.deletionTimestamp !== undefined) later.wake(key);
    });
  }
}
