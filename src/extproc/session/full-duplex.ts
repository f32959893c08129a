// The only mode in which a body can be held and guarded: in others headers leave before their body was seen, or the body
// unseen.

import { ProcessingMode_BodySendMode as BodySendMode } from '../../wire/grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import { UnexpectedMessage } from './processor.js'

const FULL_DUPLEX: number = BodySendMode.FULL_DUPLEX_STREAMED

/** Throws UnexpectedMessage unless the body is in full duplex. undefined: Envoy did not send the mode. */
export function expectFullDuplex(what: 'request' | 'reply', mode: number | undefined): void {
  if (mode !== FULL_DUPLEX)
    throw new UnexpectedMessage(`a ${what} whose body is not in full duplex`)
}
