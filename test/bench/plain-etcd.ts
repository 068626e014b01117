/** Three plain etcd members with TLS and the product's timing, as references: no controller, no records, no looks. */
import { TestCluster, type TestMember } from "../support/etcd-cluster.ts";

const TIMING = ["--heartbeat-interval=100", "--election-timeout=1000"];

/** Certificates and ports are there already; nothing is started. */
export async function prepareThree(version: string): Promise<TestCluster> {
  const cluster = await TestCluster.prepare({ version, members: 3, tls: true, args: TIMING });
  for (let i = 0; i < 3; i++) await cluster.prepareMember();
  return cluster;
}

export async function startAll(cluster: TestCluster, state: "new" | "existing"): Promise<void> {
  await Promise.all(cluster.members.map((member) => cluster.launch(member, { state })));
  await Promise.all(cluster.members.map((member) => cluster.serving(member)));
}

export async function startThree(version: string): Promise<TestCluster> {
  const cluster = await prepareThree(version);
  await startAll(cluster, "new");
  return cluster;
}

/** Remove, add as a learner, start, promote: by hand, and as soon as etcd takes each. */
export async function replaceByHand(cluster: TestCluster, lost: TestMember): Promise<void> {
  const others = cluster.members.filter((member) => member !== lost);
  const client = cluster.client(others.map(({ endpoint }) => endpoint));
  const { members } = await client.cluster.memberList();
  const id = members.find(({ name }) => name === lost.name)?.id;
  if (id === undefined) throw new Error(`${lost.name} is not listed`);
  await insist(() => client.cluster.memberRemove(id));
  const newcomer = await cluster.prepareMember();
  const added = await insist(() => client.cluster.memberAdd([newcomer.peerUrl], { learner: true }));
  await cluster.launch(newcomer, { among: [...others, newcomer] });
  await cluster.serving(newcomer);
  await insist(() => client.cluster.memberPromote(added.member.id));
}

export async function insist<T>(call: () => Promise<T>): Promise<T> {
  const end = performance.now() + 30_000;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
