/** Makes one call and returns from `main` with the connection open: the process must then end by itself. */
import process from "node:process";
import { EtcdClient } from "../../src/etcd/client.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { systemClock } from "../../src/seams/clock.ts";

const endpoint = { url: process.argv[2] ?? "" };
const transport = new GrpcTransport({ clock: systemClock });
await new EtcdClient({ transport, clock: systemClock, endpoints: [endpoint] }).maintenance.status(endpoint);
process.stdout.write("answered\n");
