// The answer to a request that goes on, with its body.

import type { HeaderChange } from '../stream/guard-messages.js'
import { prepareAnswer, type PreparedAnswer, sendPrepared } from '../stream/prepared-answer.js'
import type { ProcessorStream } from '../stream/processor.js'
import { sendWithHeaders } from '../stream/whole-body.js'

/** headers: to be set beside those that every request gets; by lower-case name. */
interface PassedRequest {
  readonly body: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a request on. */
export class RequestAnswer {
  private prepared: PreparedAnswer | undefined

  constructor(
    private readonly form: { change(): HeaderChange },
    private readonly stream: ProcessorStream,
    private readonly hasTrailers: boolean,
  ) {}

  /** Encodes the answer to a request that will probably go on with this body. */
  prepare(body: Uint8Array): void {
    this.prepared = prepareAnswer(body, this.stream, (to) => this.write({ body }, to))
  }

  /** Returns a promise only if it takes more than this turn. */
  send(request: PassedRequest): Promise<void> | void {
    const prepared = this.prepared
    return prepared !== undefined && prepared.body === request.body && request.headers === undefined
      ? sendPrepared(this.stream, prepared)
      : this.write(request, this.stream)
  }

  private write({ body, headers }: PassedRequest, to: ProcessorStream): Promise<void> | void {
    const change = this.form.change()
    const set = { ...change.set, ...headers }
    return sendWithHeaders(to, 'request', { ...change, set }, body, this.hasTrailers)
  }
}
