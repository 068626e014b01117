/**
 * A transport whose calls bear the token of one login after another, and show one certificate after another, as the
 * comparison with auth on chooses.
 */
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
  /** Of the certificate that the calls that follow show; undefined: none. */
  commonName: string | undefined;
  readonly #transport: EtcdTransport;
  readonly #as: (commonName: string) => EtcdTransport;
  readonly #others = new Map<string, EtcdTransport>();

  /** `as`: over the same network, with a certificate of this common name. */
  constructor(transport: EtcdTransport, as: (commonName: string) => EtcdTransport = () => transport) {
    this.#transport = transport;
    this.#as = as;
  }

  get #shown(): EtcdTransport {
    if (this.commonName === undefined) return this.#transport;
    const known = this.#others.get(this.commonName) ?? this.#as(this.commonName);
    this.#others.set(this.commonName, known);
    return known;
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    call: DescMethodUnary<I, O>,
    endpoint: Endpoint,
    request: MessageShape<I>,
    options: RpcOptions,
  ): Promise<MessageShape<O>> {
    const { token } = this;
    const metadata = token === undefined ? undefined : { metadata: { token } };
    const answer = await this.#shown.unary(call, endpoint, request, { ...options, ...metadata });
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
    for (const transport of [this.#transport, ...this.#others.values()]) await transport.close();
  }
}
