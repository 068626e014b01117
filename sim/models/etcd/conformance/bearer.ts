/** A transport whose calls bear the token of one login after another, as the comparison with auth on chooses. */
import type {
  DescMessage,
  DescMethodBiDiStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageShape,
} from "@bufbuild/protobuf";
import { Auth, type AuthenticateResponse } from "../../../../src/etcd/proto/rpc_pb.ts";
import type { Endpoint, EtcdTransport, RpcOptions, RpcStream } from "../../../../src/seams/etcd-transport.ts";

export class Bearer implements EtcdTransport {
  /** Of the calls that follow; undefined: none. */
  token: string | undefined;
  /** What the last login was given. */
  given = "";
  readonly #transport: EtcdTransport;

  constructor(transport: EtcdTransport) {
    this.#transport = transport;
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    call: DescMethodUnary<I, O>,
    endpoint: Endpoint,
    request: MessageShape<I>,
    options: RpcOptions,
  ): Promise<MessageShape<O>> {
    const { token } = this;
    const metadata = token === undefined ? undefined : { metadata: { token } };
    const answer = await this.#transport.unary(call, endpoint, request, { ...options, ...metadata });
    if (call.name === Auth.method.authenticate.name)
      this.given = (answer as unknown as AuthenticateResponse).token;
    return answer;
  }

  stream<I extends DescMessage, O extends DescMessage>(
    call: DescMethodServerStreaming<I, O> | DescMethodBiDiStreaming<I, O>,
    endpoint: Endpoint,
    options: RpcOptions,
  ): RpcStream<MessageShape<I>, MessageShape<O>> {
    return this.#transport.stream(call, endpoint, options);
  }

  async close(): Promise<void> {
    await this.#transport.close();
  }
}
