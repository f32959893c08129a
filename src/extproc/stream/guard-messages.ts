// Parts of a guarded request or reply → Envoy's messages in full duplex: the headers once they may go on, then the
// body in pieces (envoy.service.ext_proc.v3 StreamedBodyResponse).

import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { HeaderValueOption_HeaderAppendAction } from '../../grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  type HeaderMutationSchema,
  type ProcessingResponse,
  ProcessingResponseSchema,
} from '../../grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import type { Phase } from '../../ir/proc-entry.js'

export interface HeaderChange {
  /** Lower-case names; :status too. */
  readonly set?: Readonly<Record<string, string>>
  readonly remove?: readonly string[]
}

/** What Envoy takes at once. */
const PIECE_BYTES = 64 * 1024

export function headersMessage(phase: Phase, change: HeaderChange = {}): ProcessingResponse {
  const value = { response: { headerMutation: mutationOf(change) } }
  return create(ProcessingResponseSchema, {
    response:
      phase === 'request' ? { case: 'requestHeaders', value } : { case: 'responseHeaders', value },
  })
}

const mutationOf = ({
  set = {},
  remove = [],
}: HeaderChange): MessageInitShape<typeof HeaderMutationSchema> => ({
  setHeaders: Object.entries(set).map(([key, value]) => ({
    // Envoy reads raw_value alone here.
    header: { key, rawValue: Buffer.from(value, 'latin1') },
    appendAction: HeaderValueOption_HeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
  })),
  removeHeaders: [...remove],
})

/** isLast: the body ends here, no trailers follow. At least one message. */
export function bodyMessages(
  phase: Phase,
  body: Uint8Array,
  isLast: boolean,
): readonly ProcessingResponse[] {
  const count = Math.max(1, Math.ceil(body.length / PIECE_BYTES))
  return Array.from({ length: count }, (_, index) => {
    const piece = body.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES)
    return bodyMessage(phase, piece, isLast && index === count - 1)
  })
}

function bodyMessage(phase: Phase, body: Uint8Array, endOfStream: boolean): ProcessingResponse {
  const value = {
    response: {
      bodyMutation: {
        mutation: { case: 'streamedResponse' as const, value: { body, endOfStream } },
      },
    },
  }
  return create(ProcessingResponseSchema, {
    response:
      phase === 'request' ? { case: 'requestBody', value } : { case: 'responseBody', value },
  })
}

export const trailersMessage = (phase: Phase): ProcessingResponse =>
  create(ProcessingResponseSchema, {
    response:
      phase === 'request'
        ? { case: 'requestTrailers', value: {} }
        : { case: 'responseTrailers', value: {} },
  })
